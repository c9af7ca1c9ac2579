// A Belfry to test against. As a program, `node server.mjs ARGS` starts one, runs `node ARGS` with its
// address in the environment, and stops it again.
import { execFileSync, spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const patience = 60_000; // ms, for what has to come on a busy machine too

/**
 * Builds and starts a Belfry with an empty database of its own.
 * `stop` ends it as an operator would, and throws unless it has stopped in good order. `end` ends the process alone,
 * by a signal; `start` then has another one serve the same data at the same address.
 */
export async function startBelfry() {
  // Below the directories that the user who runs Postgres may enter; mkdtemp itself lets in its owner alone.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'belfry-conformance-'));
  await chmod(dir, 0o755);
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const secret = randomBytes(32).toString('hex');
    const setup = { binary: process.env.BELFRY_BINARY ?? build(dir), dir, log: join(dir, 'log'), secret };
    let running = await launch(setup, '127.0.0.1:0');
    const { url, tokens } = parse(running.greeting);
    const end = (signal = 'SIGTERM') => terminate(running.child, signal);
    const start = async () => {
      running = await launch(setup, new URL(url).host);
    };
    const stop = async () => {
      try {
        await end();
      } finally {
        await remove();
      }
    };
    return { url, tokens, secret, binary: setup.binary, log: setup.log, stop, end, start };
  } catch (err) {
    await remove();
    throw err;
  }
}

function build(dir) {
  const binary = join(dir, 'belfry');
  const root = fileURLToPath(new URL('..', import.meta.url));
  execFileSync('go', ['build', '-o', binary, './cmd/belfry'], { cwd: root, stdio: 'inherit' });
  return binary;
}

/** Starts the program and waits for all that it has to say to a newcomer. */
async function launch({ binary, dir, log: logPath, secret }, address) {
  const log = await open(logPath, 'a');
  // At this level the log has a line for each request.
  const args = ['dev', '--no-demo', '--listen', address, '--data', join(dir, 'data'), '--log-level', 'debug'];
  const env = { ...process.env, BELFRY_JWT_SECRET: secret };
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', log.fd], env });
  await log.close();
  const exited = new Promise((resolve) => child.once('exit', resolve));
  let greeting = '';
  const greeted = new Promise((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      greeting += text;
      if (/^curl .*\n/m.test(greeting)) resolve(true);
    });
  });
  if (await Promise.race([greeted, exited.then(() => false), delay(patience, false, { ref: false })])) {
    return { child, greeting };
  }
  child.kill('SIGKILL');
  throw new Error(`belfry does not serve:\n${await readFile(logPath, 'utf8')}`);
}

function parse(greeting) {
  const tokens = {};
  for (const [, user, token] of greeting.matchAll(/^ {2}(\S+) +(ey\S+)$/gm)) tokens[user] = token;
  const [, url] = greeting.match(/Belfry answers at +(\S+)/);
  return { url, tokens };
}

async function terminate(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error('belfry has ended by itself');
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  const code = await Promise.race([exited, delay(patience, 'none yet', { ref: false })]);
  if (code === 0 || child.signalCode === 'SIGKILL') return;
  child.kill('SIGKILL');
  throw new Error(`belfry was told to stop: exit code ${code}`);
}

/** The address, tokens, secret and log of the Belfry that was started for this run. */
export function belfry() {
  const { BELFRY_CONFORMANCE: running } = process.env;
  if (!running) throw new Error('run `npm test`, or `node server.mjs --test FILE`');
  return JSON.parse(running);
}

/** A token of a user, good for some seconds. */
export function sign(user, seconds = 3600, secret = belfry().secret) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + seconds;
  const content = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: user, exp })}`;
  return `${content}.${createHmac('sha256', secret).update(content).digest('base64url')}`;
}

/** Someone whose inbox is empty. */
export function newcomer() {
  const user = `user-${crypto.randomUUID()}`;
  return { user, token: sign(user) };
}

/** Resolves when a condition holds, and rejects when it does not in time. */
export async function until(condition, describe = String(condition), within = 15_000) {
  const deadline = Date.now() + within;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`not within ${within} ms: ${describe}`);
    await delay(10);
  }
}

/** Sends an operation as plain JSON and returns its data. */
export async function ask(token, query, variables, url = belfry().url) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}

/** Tells users something, and returns the number of new notifications. */
export async function dispatch(recipients, { url, token = belfry().tokens['demo-backend'], ...event } = {}) {
  const runId = crypto.randomUUID();
  const input = { runId, kind: 'test', category: 'tests', title: 'Something happened', recipients, ...event };
  const query = 'mutation ($input: DispatchInput!) { dispatch(input: $input) { createdCount userErrors { message } } }';
  return (await ask(token, query, { input }, url)).dispatch.createdCount;
}

async function main(args) {
  const { stop, ...running } = await startBelfry();
  // A test that needs a Belfry of its own need not build it again.
  const env = { ...process.env, BELFRY_BINARY: running.binary, BELFRY_CONFORMANCE: JSON.stringify(running) };
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const tests = spawn(process.execPath, args, { stdio: 'inherit', env, cwd });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  await stop();
  process.exitCode = code ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
