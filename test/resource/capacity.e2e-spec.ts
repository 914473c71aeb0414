import { contentsOf, expectKeptIn, Ledger } from '../support/load/ledger.js';
import { type Answer, Client, COOKIE, sharedService } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const CAPACITY = 25;

describe('the capacity, with two processes on one database', () => {
  // All writes wait for one row, also on a loaded machine.
  const environment = {
    COOKIES_CAPACITY: String(CAPACITY),
    DATABASE_BUSY_TIMEOUT: '60000',
    DATABASE_STATEMENT_TIMEOUT: '60000',
  };
  let other: ServiceProcess;
  afterAll(() => other.end());
  const { service: here, client } = sharedService(environment);
  let clients: Client[];

  beforeAll(async () => {
    other = await ServiceProcess.start(here.folder, environment);
    clients = [client, Client.of(other)];
  });

  it('accepts 25 of 200 racing POSTs and returns 507 to the other 175', async () => {
    const ledger = new Ledger();
    const post = async (client: Client): Promise<Answer> => {
      const wish = ledger.nextWish();
      const answer = await client.post({ ...COOKIE, wish });
      ledger.note(wish, answer);
      return answer;
    };
    const racing = Array.from({ length: 100 }, () => clients.map(post)).flat();
    const answers = await Promise.all(racing);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(CAPACITY);
    const refusals = answers.filter(({ status }) => status === 507);
    expect(refusals).toHaveLength(175);
    expect(new Set(refusals.map(({ body }) => body.message))).toEqual(new Set(['Storage is full']));
    const stored = await contentsOf(here.folder);
    expect(stored.count).toBe(CAPACITY);
    expectKeptIn(stored, ledger);
  });

  it('counts correctly through a random mix of 500 concurrent POST, DELETE and PUT', async () => {
    const ids: number[] = (await clients[0]!.get('/cookies')).body.map(({ id }: { id: number }) => id);
    const mixed = Array.from({ length: 500 }, async (_, index) => {
      const client = clients[index % 2]!;
      const path = `/cookies/${ids[Math.floor(Math.random() * ids.length)]}`;
      const kind = Math.floor(Math.random() * 3);
      if (kind === 0) return { kind: 'POST', status: (await client.post(COOKIE)).status };
      if (kind === 1) return { kind: 'DELETE', status: (await client.request('DELETE', path)).status };
      const body = { flavor: index % 4 < 2 ? 'chocolate' : 'cinnamon', size: 'medium' };
      return { kind: 'PUT', status: (await client.request('PUT', path, { body })).status };
    });
    const outcomes = (await Promise.all(mixed)).map(({ kind, status }) => `${kind} ${status}`);
    const allowed = ['POST 201', 'POST 507', 'DELETE 204', 'DELETE 404', 'PUT 200', 'PUT 404'];
    expect(outcomes.filter((outcome) => !allowed.includes(outcome))).toEqual([]);
    const times = (wanted: string) => outcomes.filter((outcome) => outcome === wanted).length;
    const rows = (await clients[0]!.get('/cookies')).body.length;
    expect(rows).toBe(CAPACITY + times('POST 201') - times('DELETE 204'));
    expect(rows).toBeLessThanOrEqual(CAPACITY);
    expect((await contentsOf(here.folder)).used).toBe(rows);
  });
});
