import { DataSource } from 'typeorm';
import { contentsOf, expectKeptIn, Ledger } from '../support/load/ledger.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, COOKIE, sharedService } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { shared } from '../support/shared.js';

const CAPACITY = 25;
/** Number of racing keys. */
const KEYS = 40;
/** Number of 412 responses to check. */
const REJECTIONS = 60;

/** Two processes on one database. Each test continues with the records of the previous one. */
describe(`two services on one database (${engineInUse()})`, () => {
  // All writes wait for one row, also on a loaded machine.
  const environment = {
    COOKIES_CAPACITY: String(CAPACITY),
    DATABASE_BUSY_TIMEOUT: '60000',
    DATABASE_STATEMENT_TIMEOUT: '60000',
  };
  const { service: here, client } = sharedService(environment);
  const other = shared(() => ServiceProcess.start(here.folder, environment));
  const clients = [client, Client.of(other)];

  it('accept 25 of 200 racing POSTs and return 507 to the other 175', async () => {
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

  it('count correctly through a random mix of 500 concurrent POST, DELETE and PUT', async () => {
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

  /** Sets the capacity in the database to the number of records and `places` more. */
  const leavePlaces = (places: number) =>
    here.app.get(DataSource).query(`UPDATE storage SET capacity = used + ${places} WHERE resource = 'cookies'`);

  const postWithKey = (client: Client, key: string): Promise<Answer> =>
    client.post({ ...COOKIE, wish: key }, { 'idempotency-key': key });

  it('make one record for each Idempotency-Key, and return the first response or 409 to every repetition', async () => {
    await leavePlaces(1_000_000);
    const names = Array.from({ length: KEYS }, (_, index) => `racing-${String(index).padStart(3, '0')}`);
    const answers = await Promise.all(
      names.map((name) => Promise.all([...clients, ...clients].map((client) => postWithKey(client, name)))),
    );
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
    const records: { id: number }[] = await here.app
      .get(DataSource)
      .query("SELECT wish, id FROM cookies WHERE wish LIKE 'racing-%' ORDER BY wish");
    expect(records).toHaveLength(KEYS);
    for (const [index, each] of answers.entries()) {
      const created = each.filter(({ status }) => status === 201);
      expect(new Set(created.map(({ body }) => body.id))).toEqual(new Set([records[index]!.id]));
      expect(created.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1);
    }
  });

  it('replay responses of each other, also where the storage is full and the first one took the last place', async () => {
    for (let round = 0; round < 5; round++) {
      await leavePlaces(1);
      const answers = await Promise.all(clients.map((client) => postWithKey(client, `last-${round}`)));
      expect(answers.map(({ status }) => status)).toEqual([201, 201]);
      expect(answers[0]!.text).toBe(answers[1]!.text);
    }
  });

  it(`return 412 for a committed change only, which a later GET of the other one sees: ${REJECTIONS} times`, async () => {
    await leavePlaces(1_000_000);
    const [one, another] = clients as [Client, Client];
    let rejections = 0;
    let stale = 0;

    /** Sends a conditional PATCH. After a 412, checks whether the other service still returns the rejected ETag. */
    const patch = async (path: string, etag: string): Promise<void> => {
      const { status } = await one.request('PATCH', path, { body: { size: 'large' }, headers: { 'if-match': etag } });
      if (status !== 412) return;
      rejections++;
      const { headers } = await another.get(path);
      if (headers.get('etag') === etag) stale++;
    };

    for (let round = 0; round < REJECTIONS && rejections < REJECTIONS; round++) {
      const created = await one.post(COOKIE);
      const path = `/cookies/${created.body.id}`;
      const etag = created.headers.get('etag')!;
      await Promise.all([
        ...Array.from({ length: 30 }, () => one.post(COOKIE)),
        one.request('PUT', path, { body: { flavor: 'cinnamon', size: 'medium' } }),
        ...Array.from({ length: 6 }, () => patch(path, etag)),
      ]);
    }
    expect({ rejections: rejections >= REJECTIONS, stale }).toEqual({ rejections: true, stale: 0 });
  });
});
