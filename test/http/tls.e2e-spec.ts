import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely, type ConnectionOptions, TLSSocket } from 'node:tls';
import { type Environment, loadConfig } from '../../src/config/config.js';
import { until } from '../support/until.js';
import { canMakeCertificates, makeCertificate } from '../support/certificate.js';
import { type LoggedService, startLoggedService } from '../support/logged-service.js';
import { metricsOf, untilMetric } from '../support/metrics.js';
import { responsesIn } from '../support/raw-http.js';
import { COOKIE, temporaryFolder, token, type Endpoint } from '../support/service.js';
import { preloaded } from '../support/faults/preloaded.js';
import { ServiceProcess } from '../support/service-process.js';

const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const IS_CUT = 'http_connections_cut_total{reason="too many connections"}';

const folder = temporaryFolder();
let files: { key: string; certificate: string };
let environment: Environment;
let service: LoggedService;
let sockets: TLSSocket[];
let bearer: string;

beforeAll(async () => {
  if (canMakeCertificates) files = newFiles('used');
  environment = { TLS_CERT_FILE: files.certificate, TLS_KEY_FILE: files.key };
  bearer = await token();
});

beforeEach(() => {
  sockets = [];
});

function newFiles(name: string) {
  mkdirSync(join(folder, name), { recursive: true });
  return makeCertificate(join(folder, name));
}

const portOf = ({ url }: Endpoint): number => Number(new URL(url).port);

async function connection(options: ConnectionOptions = {}, to: Endpoint = service): Promise<TLSSocket> {
  const socket = connectSecurely({ host: '127.0.0.1', port: portOf(to), rejectUnauthorized: false, ...options });
  sockets.push(socket);
  await once(socket, 'secureConnect');
  socket.on('error', () => {});
  return socket;
}

function request(method: string, path: string, body = ''): string {
  const content = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bearer}\r\n${content}\r\n${body}`;
}

/** Sends bytes, and returns the statuses when `count` responses have come. */
async function statuses(socket: TLSSocket, bytes: string, count: number): Promise<number[]> {
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.write(bytes);
  const text = (): string => Buffer.concat(received).toString();
  await until(
    () => text().split('HTTP/1.1 ').length > count && /\r\n\r\n|\}$/.test(text()),
    () => `${count} responses`,
  );
  return responsesIn(Buffer.concat(received)).map(({ status }) => status);
}

/** Sends bytes without TLS, closes its side, and waits until the service closes the connection. */
async function endedAfter(bytes: string): Promise<void> {
  const socket = connect(portOf(service), '127.0.0.1').on('error', () => {});
  socket.end(bytes);
  await once(socket.resume(), 'close');
}

const logged = (text: string): Promise<void> => until(() => service.output.includes(text), `"${text}" in the log`);

async function serialNumber(): Promise<string> {
  return (await connection()).getPeerCertificate().serialNumber;
}

const serialNumberIn = (path: string): string => new X509Certificate(readFileSync(path)).serialNumber;

(canMakeCertificates ? describe : describe.skip)('the API port with TLS_CERT_FILE and TLS_KEY_FILE', () => {
  describe('in a process', () => {
    beforeAll(async () => {
      const limits = { HOST: '0.0.0.0', MAX_CONNECTIONS: '10', REQUEST_TIMEOUT: '1000', SHUTDOWN_TIMEOUT: '60000' };
      service = await startLoggedService({ ...environment, ...limits });
    });

    afterEach(() => sockets.forEach((socket) => socket.destroy()));

    afterAll(() => service.stop());

    it('serves HTTPS with TLS 1.2 and 1.3, not with 1.1, and exports when the certificate expires', async () => {
      expect(service.url).toMatch(/^https:/);
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
        const socket = await connection({ minVersion: version, maxVersion: version });
        expect(await statuses(socket, request('POST', '/cookies', JSON.stringify(COOKIE)), 1)).toEqual([201]);
      }
      await expect(
        connection({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
      ).rejects.toThrow();
      const expires = (await metricsOf(service)).get('tls_certificate_expiry_timestamp_seconds');
      expect(expires! * 1000 - Date.now()).toBeGreaterThan(23 * 3600 * 1000);
    });

    it.each(['http/1.0', 'http/1.1'])(
      'responds to a client that offers %s alone in its handshake',
      async (protocol) => {
        const socket = await connection({ ALPNProtocols: [protocol] });
        expect(socket.alpnProtocol).toBe(protocol);
        expect(await statuses(socket, request('GET', '/cookies'), 1)).toEqual([200]);
      },
    );

    it('responds in order to 500 requests that are sent together, to a client that has closed its side', async () => {
      const socket = await connection({ allowHalfOpen: true } as ConnectionOptions);
      const requests = (request('GET', '/cookies?limit=1') + request('GET', '/cookies/x')).repeat(250);
      const received = statuses(socket, request('POST', '/cookies', JSON.stringify(COOKIE)) + requests, 501);
      socket.end();
      expect(await received).toEqual([201, ...Array<number[]>(250).fill([200, 400]).flat()]);
    });

    it('logs a POST whose body is malformed with its 400', async () => {
      const malformed = request('POST', '/cookies', 'zz\r\n').replace(
        'Content-Length: 4',
        'Transfer-Encoding: chunked',
      );
      expect(await statuses(await connection(), malformed, 1)).toEqual([400]);
      const line = /"method":"POST","route":"unknown","status":400,/;
      await until(() => line.test(service.output), 'the line of the request');
    });

    it('counts handshakes among the connections, and closes those that do not end', async () => {
      for (let number = 0; number < 30; number++) connect(portOf(service), '127.0.0.1').on('error', () => {});
      await untilMetric(service, IS_CUT, 20);
      expect(await statuses(await connection(), request('GET', '/cookies'), 1)).toEqual([200]);
      await untilMetric(service, 'http_connections_open', 1);
    });

    it('closes a handshake when its client closes its side, and does not wait for the time-out of handshakes', async () => {
      const started = performance.now();
      for (const bytes of ['', '\x16', '\x16\x03\x01\x02\x00\x01', '\x16\x03\x01\x02', '\x16\x03']) {
        await endedAfter(bytes);
      }
      expect(performance.now() - started).toBeLessThan(4000);
    });

    it('continues to serve when clients reset their connections at the end of the handshake', async () => {
      const reset = async (): Promise<void> => {
        const wire = connect(portOf(service), '127.0.0.1').on('error', () => {});
        const socket = await connection({ socket: wire });
        socket.write(request('GET', '/openapi.json'));
        wire.resetAndDestroy();
      };
      for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 8 }, reset));
      await untilMetric(service, 'http_requests_in_flight', 0);
      await untilMetric(service, 'http_connections_open', 0);
      expect(await statuses(await connection(), request('GET', '/cookies'), 1)).toEqual([200]);
      expect(service.output).not.toContain('"level":"fatal"');
    });

    it('counts connections from one port of a client to two addresses of the service', async () => {
      const from = (host: string, localPort = 0): Promise<TLSSocket> =>
        connection({ socket: connect({ host, port: portOf(service), localAddress: '127.0.0.1', localPort }) });
      const first = await from('127.0.0.1');
      expect(await statuses(first, request('GET', '/cookies?limit=1'), 1)).toEqual([200]);
      await from('127.0.0.2', first.localPort);
      await untilMetric(service, 'http_connections_open', 2);
      first.destroy();
      await untilMetric(service, 'http_connections_open', 1);
    });

    it('distinguishes two sockets that their clients have reset', () => {
      const server: Server = service.app.getHttpServer();
      // Like a socket that is reset, a new one has no address.
      const [accepted, secured] = [new Socket(), new TLSSocket(new Socket())];
      server.emit('connection', accepted);
      server.emit('secureConnection', secured);
      expect([accepted.remotePort, secured.remotePort, secured.destroyed]).toEqual([undefined, undefined, true]);
      accepted.destroy();
    });

    it('closes a connection without TLS, and continues to serve', async () => {
      for (const bytes of [request('GET', '/cookies'), '\x16\x03\x01\x00\x05hello', '\0'.repeat(1000)]) {
        await endedAfter(bytes);
      }
      expect(await statuses(await connection(), request('GET', '/cookies'), 1)).toEqual([200]);
    });

    it('uses a changed certificate for new connections, once both files have changed', async () => {
      const before = await connection();
      expect(await statuses(before, request('GET', '/cookies'), 1)).toEqual([200]);
      const next = newFiles('next');
      renameSync(next.key, files.key);
      await logged('The changed certificate is not used: the private key in');
      expect(await serialNumber()).toBe(serialNumberIn(files.certificate));
      const expected = serialNumberIn(next.certificate);
      renameSync(next.certificate, files.certificate);
      await logged('Uses the changed certificate, valid until');
      expect(await serialNumber()).toBe(expected);
      expect(await statuses(before, request('GET', '/cookies'), 1)).toEqual([200]);
      renameSync(files.key, next.key);
      await logged('The changed certificate is not used: TLS_KEY_FILE must name a file');
      renameSync(next.key, files.key);
    });
  });

  it('is HTTPS in two workers, which warn of an expired certificate, and a stop does not wait for a handshake', async () => {
    const twoDaysLater = preloaded('const { now } = Date; Date.now = () => now() + 2 * 86_400_000;');
    const settings = { ...environment, ...twoDaysLater, WORKERS: '2', SHUTDOWN_TIMEOUT: '60000' };
    await using process = await ServiceProcess.start(temporaryFolder(), settings);
    expect(process.lines.filter(({ context }) => context === 'Tls').slice(0, 1)).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/certificate\.pem has expired \(2/) },
    ]);
    expect(process.url).toMatch(/^https:/);
    const handshake = connect(portOf(process), '127.0.0.1').on('error', () => {});
    handshake.write('\x16\x03\x01\x02\x00\x01');
    expect(await statuses(await connection({}, process), request('GET', '/cookies'), 1)).toEqual([200]);
    const began = performance.now();
    expect(await process.end()).toBe(0);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it('is set by both variables, and errors name the wrong file', () => {
    const [other, empty, broken] = [newFiles('other'), join(folder, 'empty.pem'), join(folder, 'broken.pem')];
    writeFileSync(empty, '');
    writeFileSync(broken, `${readFileSync(files.certificate, 'utf8')}${BROKEN}`);
    const { TLS_CERT_FILE, TLS_KEY_FILE } = environment;
    const both = 'TLS_CERT_FILE and TLS_KEY_FILE must be set together';
    expect(() => loadConfig({ TLS_CERT_FILE })).toThrow(both);
    expect(() => loadConfig({ TLS_KEY_FILE })).toThrow(both);
    expect(() => loadConfig({ TLS_CERT_FILE, TLS_KEY_FILE: other.key })).toThrow(
      `TLS_KEY_FILE is wrong: the private key in ${other.key} does not belong to the first certificate in ${files.certificate}`,
    );
    expect(() => loadConfig({ TLS_CERT_FILE: empty, TLS_KEY_FILE: join(folder, 'none') })).toThrow(
      /TLS_CERT_FILE must name a file with a PEM certificate.*TLS_KEY_FILE must name a file that the service can read: ENOENT/s,
    );
    expect(() => loadConfig({ TLS_CERT_FILE, TLS_KEY_FILE: empty })).toThrow(
      'TLS_KEY_FILE must name a file with a PEM private key without a passphrase',
    );
    expect(() => loadConfig({ TLS_CERT_FILE: broken, TLS_KEY_FILE })).toThrow(
      `TLS_KEY_FILE is wrong: TLS cannot use ${broken} with ${files.key}: error:`,
    );
    expect(loadConfig({ TLS_CERT_FILE, TLS_KEY_FILE }).tls).toEqual({ certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE });
  });
});
