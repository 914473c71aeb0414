import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeOn } from './cores.js';

const ROOT = join(import.meta.dirname, '..');
const START_TIMEOUT = 60_000;

/** The running programs. An interrupted run stops them. */
const running = new Set();
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/** A program under test that has started. */
export class Program {
  constructor(variant, child, url) {
    this.variant = variant;
    this.child = child;
    this.url = url;
  }

  /**
   * Starts a variant and waits until it reports that it is ready, or until it responds.
   * @param folder working directory
   * @param database its URL
   */
  static async start(variant, folder, secret, database) {
    const [port, managementPort] = [await freePort(), await freePort()];
    const [command, args] = nodeOn('server', [join(ROOT, variant.program)]);
    const started = performance.now();
    const child = spawn(command, args, {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: String(port),
        MANAGEMENT_PORT: String(managementPort),
        DATABASE_URL: database,
        COOKIES_CAPACITY: '1000000000',
        JWT_SECRET: secret,
        ...variant.environment,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    const program = new Program(variant, child, `http://127.0.0.1:${port}`);
    await program.ready(variant.readiness && `http://127.0.0.1:${managementPort}${variant.readiness}`);
    /** Seconds from the start of the process until it was ready. */
    program.startSeconds = (performance.now() - started) / 1000;
    return program;
  }

  get pid() {
    return this.child.pid;
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGTERM');
    await once(this.child, 'exit');
  }

  async ready(readiness) {
    for (const until = performance.now() + START_TIMEOUT; performance.now() < until; await sleep(5)) {
      if (this.child.exitCode !== null) throw new Error(`${this.variant.name} ended with ${this.child.exitCode}`);
      const answer = await globalThis.fetch(readiness ?? `${this.url}/cookies/1`).catch(() => undefined);
      await answer?.text();
      if (readiness === undefined ? answer !== undefined : answer?.ok) return;
    }
    await this.stop();
    throw new Error(`${this.variant.name} is not ready after ${START_TIMEOUT} ms`);
  }
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
