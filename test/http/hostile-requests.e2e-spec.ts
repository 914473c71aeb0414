import { regressions } from '../fuzz/regressions.js';
import type { Tokens } from '../fuzz/message.js';
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

it('a client that disconnects right after CONNECT does not end the process', async () => {
  const connect = { id: 'gone', method: 'CONNECT', bytes: 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n' };
  for (let time = 0; time < MANY; time++) {
    await play({ ...script([connect], 'reset'), resetAfter: time % 8 }, service.url);
  }
  await expectAlive();
});
