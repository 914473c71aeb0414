import { until } from '../support/until.js';
import { regressions } from '../fuzz/regressions.js';
import { messageBytes, type Tokens } from '../fuzz/message.js';
import { untilMetric } from '../support/metrics.js';
import { temporaryFolder } from '../support/service.js';
import { play, type Script } from '../fuzz/script.js';
import { type ServiceUnderTest, startUnderTest } from '../fuzz/service-under-test.js';
import { examine } from '../fuzz/transcript.js';

/** Connections of an attack that succeeds only sometimes. */
const MANY = 40;
/** The cases are generated before the service can make tokens. */
const NO_TOKENS: Tokens = { both: '', read: '', write: '', forged: '' };

let service: ServiceUnderTest;
/** Requests that the service has answered since it was started. */
let answered: string[];

beforeEach(async () => {
  if (service !== undefined && !service.process.hasEnded) return;
  service = await startUnderTest(temporaryFolder(), {});
  answered = [];
});

afterAll(() => service.process.end('SIGKILL'));

const script = (messages: Script['messages'], end: Script['end'] = 'wait'): Script => ({ messages, packets: [], end });

async function expectAlive(): Promise<void> {
  expect((await fetch(`${service.process.managementUrl}/health/ready`)).status).toBe(200);
  expect(service.process.hasEnded).toBe(false);
}

describe('a request that once got a wrong response', () => {
  it.each(regressions(NO_TOKENS).map(({ name }, index) => [name, index] as const))('%s', async (_name, index) => {
    const { statuses, messages, end, isForManagement } = regressions(service.tokens)[index]!;
    const target = isForManagement ? new URL(service.process.managementUrl) : service.url;
    const transcript = await play(script(messages, end), target);
    const { responses, violation } = examine(script(messages, end), transcript, service.rules);
    expect(statuses).toContainEqual(responses.map(({ status }) => status));
    expect(violation).toBeUndefined();
    await expectAlive();
    const ids = responses.map(({ headers }) => headers.get('x-request-id')!);
    if (!isForManagement) answered.push(...messages.map(({ id }) => id).filter((id) => ids.includes(id)));
  });

  it('has one request line', async () => {
    await service.log.settle();
    expect(answered.filter((id) => service.log.of(id).length !== 1)).toEqual([]);
  });
});

describe('a client that disconnects', () => {
  it('right after CONNECT does not end the process', async () => {
    const connect = { id: 'gone', method: 'CONNECT', bytes: 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n' };
    for (let time = 0; time < MANY; time++) {
      await play({ ...script([connect], 'reset'), resetAfter: time % 8 }, service.url);
    }
    await expectAlive();
  });

  it('after POST behind responses that it does not read leaves one request line for each stored record', async () => {
    const authorization = `Authorization: Bearer ${service.tokens.both}`;
    const before = (await service.changes.after(0)).at(-1)?.serial ?? 0;
    for (let time = 0; time < MANY; time++) {
      const documents = Array.from({ length: 10 }, (_, index) => {
        const id = `unread${time}.${index}`;
        return { id, method: 'GET', bytes: messageBytes({ id, method: 'GET', target: '/openapi.json' }) };
      });
      const id = `unread${time}.post`;
      const body = `{"flavor":"vanilla","size":"small","wish":"of ${id}"}`;
      const headers = [authorization, 'Content-Type: application/json'];
      const post = {
        id,
        method: 'POST',
        bytes: messageBytes({ id, method: 'POST', target: '/cookies', headers, body }),
      };
      await play({ ...script([...documents, post], 'reset'), resetAfter: 5 + (time % 20) }, service.url);
    }
    await untilMetric(service.process, 'http_requests_in_flight', 0);
    const stored = (await service.changes.after(before)).map(({ wish }) => wish.replace('of ', ''));
    await until(
      () => stored.every((id) => service.log.of(id).length > 0),
      `a line for each of ${stored.length} records`,
    );
    await service.log.settle();
    expect(stored.filter((id) => service.log.of(id).length !== 1)).toEqual([]);
  });
});
