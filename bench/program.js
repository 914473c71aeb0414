import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeOn } from './cores.js';

const ROOT = join(import.meta.dirname, '..');

/** A program under test, on a database of its own. */
export class Program {
  constructor(variant, child, url) {
    this.variant = variant;
    this.child = child;
    this.url = url;
  }

  /** Starts a variant and waits until it answers. */
  static async start(variant, folder, secret) {
    mkdirSync(folder);
    const port = await freePort();
    const [command, args] = nodeOn('server', [join(ROOT, variant.program)]);
    const child = spawn(command, args, {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        NODE_ENV: 'production',
        HOST: '127.0.0.1',
        PORT: String(port),
        MANAGEMENT_PORT: '0',
        DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}`,
        COOKIES_CAPACITY: '1000000000',
        JWT_SECRET: secret,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const program = new Program(variant, child, `http://127.0.0.1:${port}`);
    await program.answers();
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

  async answers() {
    for (let waited = 0; waited < 20_000; waited += 50) {
      if (this.child.exitCode !== null) throw new Error(`${this.variant.name} ended with ${this.child.exitCode}`);
      const answer = await globalThis.fetch(`${this.url}/cookies/1`).catch(() => undefined);
      await answer?.text();
      if (answer !== undefined) return;
      await sleep(50);
    }
    await this.stop();
    throw new Error(`${this.variant.name} does not answer at ${this.url}`);
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
