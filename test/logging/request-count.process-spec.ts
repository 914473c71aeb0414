import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { metricsOf, untilMetric } from '../support/metrics.js';
import { Client, COOKIE, temporaryFolder, token } from '../support/service.js';
import { connected } from '../support/raw-http.js';
import { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';

const REQUESTS = 8000;
const CONNECTIONS = 8;
/** Requests that wait on a connection; the service stops reading at 16. */
const IN_FLIGHT = 12;
/** Requests of one connection; one connection in eight is reset before its last responses arrive. */
const ON_ONE = 250;
const COUNT = 'http_request_duration_seconds_count';

interface Sent {
  readonly id: string;
  readonly status: number;
}

describe(`the log and the metrics of ${REQUESTS} requests, some connections being reset,`, () => {
  let service: ServiceProcess;
  let lines: Record<string, unknown>[];
  let counts: Map<string, number>;
  /** Requests whose response has arrived. The outcome of the others is unknown. */
  const answered: Sent[] = [];

  beforeAll(async () => {
    const file = join(temporaryFolder(), 'log');
    // A file, because this process would read a pipe too slowly, and lines would be dropped.
    service = await startWithLog(file);
    expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    const authorization = `Authorization: Bearer ${await token()}\r\n`;
    let next = 0;
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        while (next < REQUESTS) {
          const first = next;
          next = Math.min(REQUESTS, first + ON_ONE);
          const isReset = (first / ON_ONE) % CONNECTIONS === 0;
          await sendOnOne(service.url, first, next, authorization, isReset, answered);
        }
      }),
    );
    await untilMetric(service, 'http_requests_in_flight', 0);
    counts = await metricsOf(service);
    expect(await service.end()).toBe(0);
    lines = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"requestId":"r-'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }, 240_000);

  afterAll(() => service.end('SIGKILL'));

  it('have each answered request once, with its status, and none twice', () => {
    const byId = new Map(lines.map(({ requestId, status }) => [requestId, status]));
    expect(byId.size).toBe(lines.length);
    // The last responses of a reset connection may not have arrived.
    expect(answered.length).toBeGreaterThan(REQUESTS - (REQUESTS / ON_ONE) * IN_FLIGHT);
    expect(lines.length).toBeGreaterThanOrEqual(answered.length);
    expect(answered.filter(({ id, status }) => byId.get(id) !== status)).toEqual([]);
  });

  it('agree on the number of requests of each method, route and status', () => {
    const logged = new Map<string, number>();
    for (const { method, route, status } of lines) {
      const series = `${COUNT}{method="${String(method)}",route="${String(route)}",status="${status === undefined ? 'none' : Number(status)}"}`;
      logged.set(series, (logged.get(series) ?? 0) + 1);
    }
    const counted = [...counts].filter(([name]) => name.startsWith(COUNT) && !name.includes('"POST"'));
    expect(counted.length).toBeGreaterThanOrEqual(4);
    expect(new Map(counted)).toEqual(logged);
  });
});

/** Starts the service with its log in a file, from which its addresses are read. */
async function startWithLog(file: string): Promise<ServiceProcess> {
  const descriptor = openSync(file, 'w');
  const service = ServiceProcess.spawn(join(file, '..'), {}, { stdout: descriptor });
  closeSync(descriptor);
  await until(() => {
    service.output = readFileSync(file, 'utf8');
    return /Management: +http/.test(service.output);
  }, 'the service starts');
  return service;
}

/** In turn: GET of a record, of a missing record, of the list without a token, and of a path without a route. */
function request(number: number, authorization: string): string {
  const [path, fields] = [
    ['/cookies/1', authorization],
    ['/cookies/987', authorization],
    ['/cookies', ''],
    [`/nothing-${number}`, authorization],
  ][number % 4]!;
  return `GET ${path} HTTP/1.1\r\nHost: cookies\r\n${fields}X-Request-Id: r-${number}\r\n\r\n`;
}

/** Sends requests over one connection, and resets it before the last responses, or closes it afterwards. */
async function sendOnOne(
  url: string,
  first: number,
  end: number,
  authorization: string,
  isReset: boolean,
  answered: Sent[],
): Promise<void> {
  const socket = await connected(url);
  let [sent, done, rest] = [first, first, ''];
  const sendMore = (): void => {
    let requests = '';
    for (; sent < end && sent - done < IN_FLIGHT; sent++) requests += request(sent, authorization);
    if (requests !== '') socket.write(requests);
  };
  socket.on('data', (chunk) => {
    // The body of a response precedes the status line of the next one.
    const heads = (rest + chunk.toString('latin1')).split('\r\n\r\n');
    rest = heads.pop()!;
    for (const head of heads) {
      const [, status] = /HTTP\/1\.1 (\d+) /.exec(head)!;
      const [, id] = /^x-request-id: (\S+)$/im.exec(head)!;
      answered.push({ id: id!, status: Number(status) });
    }
    done += heads.length;
    if (isReset && done >= end - IN_FLIGHT) socket.resetAndDestroy();
    else if (done === end) socket.end();
    else sendMore();
  });
  sendMore();
  await once(socket, 'close');
  if (!isReset) expect(done).toBe(end);
}
