/**
 * Installs the packages that most teams add in a copy of the project, starts the copy by `npm start` and by
 * `npm run start:dev`, and uses each package:
 *
 *   npm run ecosystem
 *
 * It needs the npm registry and `redis-server` on the PATH.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

const ROOT = join(import.meta.dirname, '../..');
/** argon2 0.45 crashes Node 20 (segmentation fault) when it is loaded. */
const PACKAGES = [
  '@nestjs/schedule @nestjs/event-emitter @nestjs/cqrs @nestjs/config @nestjs/axios axios @nestjs/cache-manager cache-manager keyv',
  '@nestjs/throttler @nestjs/terminus @nestjs/bullmq bullmq ioredis nestjs-cls@6 @nestjs-cls/transactional',
  '@nestjs-cls/transactional-adapter-typeorm nestjs-pino@5 pino-http argon2@0.44 bcrypt @types/bcrypt sharp',
  '@nestjs/graphql @nestjs/mercurius mercurius graphql@16 @nestjs/websockets @nestjs/platform-ws ws @types/ws',
  '@fastify/helmet @fastify/compress zod',
].flatMap((line) => line.split(' '));

const EXPECTED = {
  schedule: true,
  eventEmitter: 'hello',
  cqrs: 42,
  config: 'word',
  axios: 200,
  cacheManager: 'kept',
  terminus: 'up',
  bullmq: 2,
  cls: true,
  transactional: true,
  pino: true,
  argon2: true,
  bcrypt: true,
  sharp: true,
  template: 'Hello from beside the source',
  worker: 144,
  dynamicImport: 42,
};

const SECRET = 'k8Yx2mQ7vR4tW9zB3nL6pD1sF5hJ0gAc';

/** A token of one minute. */
function tokenFor(scope, sub = 'alice') {
  const claims = { sub, scope, exp: Math.floor(Date.now() / 1000) + 60 };
  const parts = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createHmac('sha256', SECRET).update(parts.join('.')).digest('base64url');
  return [...parts, signature].join('.');
}

/** Requests the greeting by GraphQL. @returns it, or the status of the error */
async function greetingByGraphql(url, scope) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokenFor(scope)}` },
    body: JSON.stringify({ query: '{ hello(greeting: { name: "Ada" }) }' }),
  });
  const { data, errors } = await response.json();
  return data?.hello ?? errors[0].extensions.statusCode;
}

/**
 * Requests the greeting over a WebSocket, and again after `later`.
 * @returns the last greeting, the status of its error, or `refused`
 */
async function greetingByWebSocket(folder, url, protocols, later) {
  const WebSocket = createRequire(join(folder, 'package.json'))('ws');
  const socket = new WebSocket(`${url.replace('http', 'ws')}/greetings`, protocols);
  const greeting = async () => {
    socket.send(JSON.stringify({ event: 'hello', data: { name: 'Ada' } }));
    const [message] = await once(socket, 'message', { signal: AbortSignal.timeout(10_000) });
    const { data } = JSON.parse(message);
    return data.statusCode ?? data;
  };
  try {
    await once(socket, 'open');
    const first = await greeting();
    if (later === undefined) return first;
    await later();
    return await greeting();
  } catch {
    return 'refused';
  } finally {
    socket.terminate();
  }
}

/** @returns whether the service answers another client before the many pings of a WebSocket */
async function isServedBesidePings(folder, url, protocols) {
  const WebSocket = createRequire(join(folder, 'package.json'))('ws');
  const socket = new WebSocket(`${url.replace('http', 'ws')}/greetings`, protocols);
  await once(socket, 'open');
  let pongs = 0;
  socket.on('pong', () => pongs++);
  const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
  socket._socket.write(Buffer.alloc(300_000 * ping.length, ping));
  await sleep(50);
  await fetch(url);
  socket.terminate();
  return pongs < 10_000;
}

/** Sends more messages over WebSockets than the service can handle before it must have stopped. */
async function flood(folder, url, protocols) {
  const WebSocket = createRequire(join(folder, 'package.json'))('ws');
  const message = JSON.stringify({ event: 'hello', data: { name: 'Ada' } });
  for (let opened = 0; opened < 300; opened++) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/greetings`, protocols);
    await once(socket, 'open');
    // The stop disconnects it.
    socket.on('error', () => {});
    for (let sent = 0; sent < 3000; sent++) socket.send(message);
  }
}

/** Revokes all tokens of a subject. Every process of the service rejects them after 5 s. */
async function revoke(folder, subject) {
  run(folder, 'npm', ['run', '--silent', 'cli', '--', 'revoke', '--sub', subject]);
  await sleep(5000);
}

/** Leaves messages of WebSockets that wait. @returns the wrong results of GraphQL and WebSockets */
async function useTransports(folder, url) {
  const bearer = (scope, subject) => ['bearer', tokenFor(scope, subject)];
  const former = `former-${Date.now()}`;
  const revoked = await greetingByWebSocket(folder, url, bearer('greetings:read', former), () =>
    revoke(folder, former),
  );
  const results = [
    ['GraphQL', await greetingByGraphql(url, 'greetings:read'), 'Hello Ada'],
    ['GraphQL without the scope', await greetingByGraphql(url, 'other'), 403],
    ['WebSocket', await greetingByWebSocket(folder, url, bearer('greetings:read')), 'Hello Ada'],
    ['WebSocket without the scope', await greetingByWebSocket(folder, url, bearer('other')), 403],
    ['WebSocket without a token', await greetingByWebSocket(folder, url, []), 'refused'],
    ['WebSocket whose token was revoked', revoked, 401],
    ['others beside pings', await isServedBesidePings(folder, url, bearer('greetings:read')), true],
  ];
  await flood(folder, url, bearer('greetings:read'));
  return results
    .filter(([, is, expected]) => is !== expected)
    .map(([what, is, expected]) => `${what}: ${is} instead of ${expected}`);
}

/** Ends the program if the command fails. */
function run(folder, command, args, variables = {}) {
  console.log(`$ ${command} ${args.join(' ')}`);
  const env = { ...process.env, ...variables };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`);
}

function copyProject(folder) {
  const files = run(ROOT, 'git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split('\0');
  for (const file of files.filter((name) => name !== '' && existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  cpSync(join(import.meta.dirname, 'feature'), join(folder, 'src/ecosystem'), { recursive: true });
  change(join(folder, 'src/app.module.ts'), [
    [/^/, "import { EcosystemModule } from './ecosystem/ecosystem.module.js';\n"],
    ['// features\n', '// features\n        EcosystemModule,\n'],
  ]);
  // GraphQL and WebSockets are used by the code of docs/transports.md.
  const guide = readFileSync(join(ROOT, 'docs/transports.md'), 'utf8');
  for (const [, file, code] of guide.matchAll(/```ts\n\/\/ ([\w.-]+\.ts)\n([\s\S]*?)```/g)) {
    writeFileSync(join(folder, 'src/ecosystem', file), code);
  }
  const plugins = "import compress from '@fastify/compress';\nimport helmet from '@fastify/helmet';\n";
  change(join(folder, 'src/app.ts'), [
    [/^/, `${plugins}import { AuthenticatedWsAdapter } from './ecosystem/authenticated-ws.adapter.js';\n`],
    ['  trackResponses(', '  app.useWebSocketAdapter(new AuthenticatedWsAdapter(app));\n  trackResponses('],
    ['  return app;\n', '  await app.register(helmet);\n  await app.register(compress);\n  return app;\n'],
  ]);
  change(join(folder, 'jest.config.js'), [["testEnvironment: 'node',", "$&\n  setupFiles: ['@nestjs/core'],"]]);
}

/** Replaces the first occurrence of each text in a source file. Ends the program if it has none. */
function change(path, replacements) {
  let text = readFileSync(path, 'utf8');
  for (const [from, to] of replacements) {
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`${path} has no ${JSON.stringify(from)}`);
    text = changed;
  }
  writeFileSync(path, text);
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the service by an npm script, in its own process group. @returns the wrong results of its work and its stop */
async function started(folder, script, redis, work) {
  const [port, management] = [await freePort(), await freePort()];
  const live = `http://127.0.0.1:${management}/health/live`;
  const child = spawn('npm', ['run', script], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      PORT: port,
      MANAGEMENT_PORT: management,
      ECOSYSTEM_REDIS: redis,
      ECOSYSTEM_LIVE: live,
      ECOSYSTEM_WORD: 'word',
      JWT_SECRET: SECRET,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  let wrong;
  try {
    for (let waited = 0; !(await isOk(live)); waited += 200) {
      if (waited > 120_000 || child.exitCode !== null) throw new Error(`The service did not start:\n${output}`);
      await sleep(200);
    }
    wrong = await work(`http://127.0.0.1:${port}`);
  } catch (error) {
    throw new Error(`${error.message}\n${output.slice(-4000)}`, { cause: error });
  } finally {
    if (child.exitCode === null) {
      process.kill(-child.pid, 'SIGTERM');
      await once(child, 'close');
    }
  }
  return output.includes('did not stop within') ? [...wrong, 'it waits for the messages when it stops'] : wrong;
}

const isOk = (url) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** @returns the wrong results */
async function useAll(url) {
  const response = await fetch(`${url}/ecosystem`);
  const body = await response.json();
  if (response.status !== 200) return [`GET /ecosystem is ${response.status}: ${JSON.stringify(body)}`];
  const wrong = Object.entries(EXPECTED).filter(([name, value]) => !isDeepStrictEqual(body[name], value));
  const throttled = [];
  for (let time = 0; time < 3; time++) throttled.push((await fetch(`${url}/ecosystem/throttled`)).status);
  const differences = wrong.map(
    ([name, value]) => `${name}: ${JSON.stringify(body[name])} instead of ${JSON.stringify(value)}`,
  );
  const whole = await fetch(`${url}/ecosystem/zod?limit=5`);
  const rejected = await fetch(`${url}/ecosystem/zod?limit=x`);
  const seen = [(await whole.json()).length, whole.headers.get('content-encoding'), rejected.status];
  if (!isDeepStrictEqual(seen, [5, 'gzip', 400])) {
    differences.push(`zod, compress: ${JSON.stringify(seen)}`);
  }
  const policy = whole.headers.get('content-security-policy');
  if (!policy?.includes("object-src 'none'")) differences.push(`helmet: ${policy}`);
  if (String(throttled) !== '200,200,429') differences.push(`throttler: ${throttled} instead of 200,200,429`);
  return differences;
}

const folder = mkdtempSync(join(tmpdir(), 'ecosystem-'));
const redisPort = await freePort();
const redis = spawn('redis-server', ['--port', redisPort, '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
  stdio: 'ignore',
});
redis.on('error', () => {
  console.error('redis-server was not found: install it (apt-get install redis-server), @nestjs/bullmq needs it.');
  process.exit(2);
});
await once(redis, 'spawn');
try {
  copyProject(folder);
  run(folder, 'npm', ['ci', '--no-audit', '--no-fund']);
  run(folder, 'npm', ['install', '--no-audit', '--no-fund', ...PACKAGES]);
  run(folder, 'npm', ['run', 'build']);
  // On Node 20, jest cannot load some of the packages.
  if (Number.parseInt(process.versions.node) >= 24) {
    run(folder, 'npm', ['test', '--', 'test/management/health'], {
      ECOSYSTEM_REDIS: redisPort,
      ECOSYSTEM_WORD: 'word',
    });
  }
  for (const script of ['start', 'start:dev']) {
    const wrong = await started(folder, script, redisPort, async (url) => [
      ...(await useAll(url)),
      ...(await useTransports(folder, url)),
    ]);
    for (const line of wrong) console.error(`npm run ${script}: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
    else console.log(`npm run ${script}: all ${Object.keys(EXPECTED).length + 8} work`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  redis.kill();
  if (!process.env.KEEP) rmSync(folder, { recursive: true, force: true });
}
