// Belfry as a test needs it: built, and started with a private Postgres on a free port.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '../../..');

// Starts `belfry dev`. Returns its address, ada's token and the backend's, and how to stop it. BELFRY
// names a program to use in place of a new build.
export async function startBelfry() {
  // Postgres runs as another user where this is run by root: it has to be able to enter.
  const dir = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'belfry-playground-'));
  await chmod(dir, 0o755);
  const program = process.env.BELFRY ?? (await build(join(dir, 'belfry')));
  const args = ['dev', '--listen', '127.0.0.1:0', '--data', join(dir, 'data'), '--log-level', 'warn'];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  const greeting = {};
  for await (const line of createInterface({ input: child.stdout })) {
    greeting.base ??= /^Belfry answers at +(\S+)\/graphql$/.exec(line)?.[1];
    greeting.ada ??= /^ +ada +(ey\S+)$/.exec(line)?.[1];
    greeting.backend ??= /^ +demo-backend +(ey\S+)$/.exec(line)?.[1];
    if (line.startsWith('curl')) {
      child.stdout.resume();
      return { ...greeting, stop };
    }
  }
  await stop();
  throw new Error('belfry dev ended before it had greeted');
}

async function build(program) {
  await promisify(execFile)('go', ['build', '-o', program, './cmd/belfry'], { cwd: root });
  return program;
}

// Sends an operation as any client does, and returns its data.
export async function ask({ base, backend }, query, variables) {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${backend}` },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) {
    throw new Error(errors[0].message);
  }
  return data;
}
