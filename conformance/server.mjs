// A Belfry to test against. As a program, `node server.mjs ARGS` starts one, runs `node ARGS` with its
// address in the environment, and stops it again.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const patience = 60_000; // ms, for what has to come on a busy machine too

/**
 * Builds and starts a Belfry with an empty database of its own.
 * `stop` ends it as an operator would, and throws unless it has stopped in good order.
 */
export async function startBelfry() {
  // Below the directories that the user who runs Postgres may enter; mkdtemp itself lets in its owner alone.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'belfry-conformance-'));
  await chmod(dir, 0o755);
  const remove = () => rm(dir, { recursive: true, force: true });
  try {
    const binary = process.env.BELFRY_BINARY ?? build(dir);
    const log = join(dir, 'log');
    const { child, greeting } = await launch(binary, dir, log);
    const stop = async () => {
      try {
        await terminate(child);
      } finally {
        await remove();
      }
    };
    return { ...parse(greeting), binary, log, stop };
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
async function launch(binary, dir, logPath) {
  const log = await open(logPath, 'w');
  const args = ['dev', '--no-demo', '--listen', '127.0.0.1:0', '--data', join(dir, 'data')];
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', log.fd] });
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

async function terminate(child) {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error('belfry has ended by itself');
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const code = await Promise.race([exited, delay(patience, 'none yet', { ref: false })]);
  if (code === 0) return;
  child.kill('SIGKILL');
  throw new Error(`belfry was told to stop: exit code ${code}`);
}

/** The address, tokens and log of the Belfry that was started for this run. */
export function belfry() {
  const { BELFRY_CONFORMANCE: running } = process.env;
  if (!running) throw new Error('run `npm test`, or `node server.mjs --test FILE`');
  return JSON.parse(running);
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
export async function dispatch(recipients, url, token = belfry().tokens['demo-backend']) {
  const input = { runId: crypto.randomUUID(), kind: 'test', category: 'tests', title: 'Something happened', recipients };
  const query = 'mutation ($input: DispatchInput!) { dispatch(input: $input) { createdCount userErrors { message } } }';
  return (await ask(token, query, { input }, url)).dispatch.createdCount;
}

async function main(args) {
  const { stop, ...running } = await startBelfry();
  const env = { ...process.env, BELFRY_CONFORMANCE: JSON.stringify(running) };
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const tests = spawn(process.execPath, args, { stdio: 'inherit', env, cwd });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => tests.kill(signal));
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  await stop();
  process.exitCode = code ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
