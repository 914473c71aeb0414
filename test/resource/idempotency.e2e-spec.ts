import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { jest } from '@jest/globals';
import { Body, Controller, HttpCode, Module, Post, UseGuards } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Public, Scopes } from '../../src/auth/scopes.decorator.js';
import { CookiesModule } from '../../src/cookies/cookies.module.js';
import { CookiesService } from '../../src/cookies/cookies.service.js';
import { CreateCookieDto } from '../../src/cookies/dto/cookie.dto.js';
import { engineOf } from '../../src/database/engine.js';
import { AcceptsBody } from '../../src/http/body/accepts-body.decorator.js';
import { Exchange, ResourceExchange } from '../../src/resource/exchange.js';
import { deleteExpiredKeys } from '../../src/resource/idempotency/idempotency.js';
import { claims, HS256, jws } from '../auth/jws.js';
import { CreateOutings1790000400000 } from '../outings/create-outings.js';
import { OutingsModule } from '../outings/outings.module.js';
import { AccountGuard } from '../support/account-guard.js';
import { engineInUse } from '../support/engine.js';
import { expectError } from '../support/expect-error.js';
import { HttpClient, jsonFields } from '../support/http-client.js';
import { type Answer, Client, COOKIE, sharedService, token } from '../support/service.js';

/** Handlers that use the resource kit in other ways than generated controllers. */
@Controller('batches')
class BatchesController {
  constructor(private readonly cookies: CookiesService) {}

  @Post('pair')
  @Scopes('cookies:write')
  async pair(@Body() body: CreateCookieDto, @Exchange() { preconditions }: ResourceExchange) {
    const { records } = this.cookies;
    const at = new Date();
    return records.transaction(async (transaction) => {
      const cookies = records.in(transaction);
      const pair = [await cookies.create(body), await cookies.create(body)];
      return { at, ids: pair.map(({ record }) => record.id) };
    }, preconditions);
  }

  @Post('two-writes')
  @Scopes('cookies:write')
  async twoWrites(@Body() body: CreateCookieDto, @Exchange() exchange: ResourceExchange) {
    await this.cookies.records.create(body, exchange.preconditions);
    await this.cookies.records.create(body, exchange.preconditions);
  }

  @Post('bytes')
  @HttpCode(200)
  @Scopes('cookies:write')
  @AcceptsBody({ type: 'text/plain', limit: 100 })
  async bytes(@Body() wish: Buffer, @Exchange() exchange: ResourceExchange) {
    const cookie = { ...COOKIE, wish: wish.toString() };
    return exchange.changed(await this.cookies.records.create(cookie, exchange.preconditions));
  }

  @Post('stream')
  @HttpCode(200)
  @Scopes('cookies:write')
  @AcceptsBody({ type: 'text/plain', limit: 100 })
  async stream(@Body() wish: Readable, @Exchange() exchange: ResourceExchange) {
    return this.bytes(await buffer(wish), exchange);
  }

  @Post('account')
  @Scopes('cookies:write')
  @UseGuards(AccountGuard)
  async account(@Body() body: CreateCookieDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.cookies.records.create(body, exchange.preconditions));
  }

  @Post('account/public')
  @Public()
  @UseGuards(AccountGuard)
  async publicAccount(@Body() body: CreateCookieDto, @Exchange() exchange: ResourceExchange) {
    return this.account(body, exchange);
  }

  @Post('open')
  @Public()
  async open(@Body() body: CreateCookieDto, @Exchange() exchange: ResourceExchange) {
    return exchange.changed(await this.cookies.records.create(body, exchange.preconditions));
  }
}

@Module({ imports: [CookiesModule], controllers: [BatchesController] })
class BatchesModule {}

const SCOPE = ['cookies', 'sleighs', 'outings'].map((name) => `${name}:read ${name}:write`).join(' ');

describe(`Idempotency-Key (${engineInUse()})`, () => {
  const modules = [OutingsModule, BatchesModule];
  const { service } = sharedService({ LOG_LEVEL: 'silent' }, modules, [new CreateOutings1790000400000()]);
  const client = Client.of(service, { scope: SCOPE });
  let source: DataSource;

  beforeAll(() => {
    source = service.app.get(DataSource);
  });

  const keyed = (key: string = randomUUID()) => ({ 'idempotency-key': key });
  const send = (path: string, body: unknown, headers: Record<string, string>): Promise<Answer> =>
    client.request('POST', path, { body, headers });
  const total = async (): Promise<number> =>
    Number((await client.get('/cookies?limit=1')).headers.get('x-total-count'));
  const keys = async (): Promise<number> =>
    Number((await source.query('SELECT count(*) AS count FROM idempotency_keys'))[0].count);

  /** Expects the response to be a replay of the first one. */
  const expectReplay = (answer: Answer, first: Answer): void => {
    const shown = ({ status, text, headers }: Answer) => [
      status,
      text,
      ...['etag', 'location', 'content-type', 'cache-control'].map((name) => headers.get(name)),
    ];
    expect(shown(answer)).toEqual(shown(first));
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(answer.headers.get('idempotency-replayed')).toBe('true');
  };

  const withCapacity = async (capacity: number, work: () => Promise<void>): Promise<void> => {
    const set = (value: number) => source.query(`UPDATE storage SET capacity = ${value} WHERE resource = 'cookies'`);
    await set(capacity);
    await work().finally(() => set(10_000));
  };

  /** Blocks writes of cookies until `work` is done. */
  const whileWritersWait = (work: () => Promise<void>): Promise<void> =>
    source.transaction(async ({ queryRunner }) => {
      await queryRunner!.query("UPDATE storage SET capacity = capacity WHERE resource = 'cookies'");
      await work();
    });

  it('returns the first response, even after the record was changed and deleted', async () => {
    const headers = keyed();
    const first = await client.post(COOKIE, headers);
    const path = first.headers.get('location')!;
    await client.request('PATCH', path, { body: { size: 'large' } });
    expectReplay(await client.post(COOKIE, headers), first);
    await client.request('DELETE', path);
    expectReplay(await client.post(COOKIE, headers), first);
  });

  it('is one key for a path, also in a target with scheme and host', async () => {
    const headers = keyed();
    const first = await client.post(COOKIE, headers);
    using http = new HttpClient(service.url);
    const fields = { ...jsonFields(await token({ scope: SCOPE }), true), ...headers };
    const repeated = await http.send('POST', `${service.url}/cookies`, fields, JSON.stringify(COOKIE));
    expect(repeated.headers.get('idempotency-replayed')).toBe('true');
    expect(repeated.headers.get('location')).toBe(first.headers.get('location'));
  });

  it('is separate for each subject of each issuer', async () => {
    const headers = keyed();
    const bob = Client.of(service, { subject: 'bob' });
    const namesake = Client.bearing(service, jws(HS256, claims({ iss: 'https://other.example' })));
    const answers = [await client.post(COOKIE, headers), await bob.post({ ...COOKIE, wish: 'of Bob' }, headers)];
    answers.push(await namesake.post(COOKIE, headers));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id as number)).size).toBe(3);
  });

  it('is separate for each subject behind a guard that replaces the user of the request', async () => {
    const headers = keyed();
    const clients = ['ann', 'bob'].map((subject) => Client.of(service, { subject }));
    const answers: Answer[] = [];
    for (const each of clients) answers.push(await each.request('POST', '/batches/account', { body: COOKIE, headers }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set(answers.map(({ body }) => body.id as number)).size).toBe(2);
    const open = await client.request('POST', '/batches/account/public', { body: COOKIE, headers });
    expectError(open, 400, 'INVALID_REQUEST');
  });

  it.each(['', '""', 'a b', 'a,b', '"a', '"a", "b"', '"a\\b"', 'x'.repeat(256)])(
    'of %j is 400, and nothing is stored',
    async (key) => {
      const before = await total();
      const answer = await client.post(COOKIE, keyed(key));
      expectError(answer, 400, 'INVALID_REQUEST');
      expect(answer.body.details).toEqual([{ parameter: 'Idempotency-Key', message: expect.any(String) }]);
      expect(await total()).toBe(before);
    },
  );

  it.each([
    ['x'.repeat(255), 'x'.repeat(255)],
    ['~!#$%&', '"~!#$%&"'],
    ['"a \\"b\\" \\\\"', '"a \\"b\\" \\\\"'],
  ])('may be %s', async (key, again) => {
    const first = await client.post(COOKIE, keyed(key));
    expectReplay(await client.post(COOKIE, keyed(again)), first);
  });

  it('makes a repetition 409 with Retry-After while the first request is in progress', async () => {
    const headers = keyed();
    let first: Promise<Answer> | undefined;
    await whileWritersWait(async () => {
      first = client.post(COOKIE, headers);
      await sleep(200);
      const second = await client.post(COOKIE, headers);
      expectError(second, 409, 'IDEMPOTENCY_KEY_IN_USE');
      expect(second.headers.get('retry-after')).toBe('1');
    });
    const created = await first!;
    expectReplay(await client.post(COOKIE, headers), created);
  });

  it('keeps no error: a POST that was 507 or 400 is 201 when there is room and the body is valid', async () => {
    const headers = keyed();
    const before = await keys();
    await withCapacity(0, async () => expectError(await client.post(COOKIE, headers), 507, 'STORAGE_FULL'));
    expectError(await client.post({ ...COOKIE, size: 'tiny' }, headers), 400, 'INVALID_REQUEST');
    expect(await keys()).toBe(before);
    const first = await client.post(COOKIE, headers);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([201, null]);
  });

  it('stores no error of a batch: the accepted POSTs keep their responses, the others can be repeated', async () => {
    const headers = Array.from({ length: 10 }, () => keyed());
    await withCapacity((await total()) + 4, async () => {
      const answers = await Promise.all(headers.map((each) => client.post(COOKIE, each)));
      expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill(201), ...Array(6).fill(507)]);
      const again = await Promise.all(headers.map((each) => client.post(COOKIE, each)));
      const shown = ({ status, text }: Answer) => (status === 201 ? text : status);
      expect(again.map(shown)).toEqual(answers.map(shown));
    });
  });

  it('stores nothing for a POST without it, and for other methods', async () => {
    const before = await keys();
    const path = (await client.post(COOKIE)).headers.get('location')!;
    const changes = await Promise.all([
      client.request('PATCH', path, { body: { size: 'large' }, headers: keyed() }),
      client.request('PUT', path, { body: { flavor: 'cinnamon', size: 'medium' }, headers: keyed('not valid') }),
    ]);
    expect(changes.map(({ status }) => status)).toEqual([204, 200]);
    expect((await client.request('DELETE', path, { headers: keyed() })).status).toBe(204);
    expect(await keys()).toBe(before);
  });

  it('lets POSTs share transactions, each with its own result', async () => {
    using transactions = jest.spyOn(engineOf(source), 'transaction');
    const before = await keys();
    let posts: Promise<Answer>[] = [];
    await whileWritersWait(async () => {
      posts = Array.from({ length: 60 }, () => client.post(COOKIE, keyed()));
      await sleep(1500);
    });
    const answers = await Promise.all(posts);
    const { length } = transactions.mock.calls;
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(60);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(60);
    expect(await keys()).toBe(before + 60);
    expect(length).toBeLessThan(30);
  });

  it('is valid for 24 hours', async () => {
    const headers = keyed();
    const first = await client.post(COOKIE, headers);
    const [{ remaining }] = await source.query(
      `SELECT max(expires) - ${engineOf(source).dialect.now} AS remaining FROM idempotency_keys`,
    );
    expect(Number(remaining)).toBeGreaterThan(24 * 3_600_000 - 60_000);
    expect(Number(remaining)).toBeLessThanOrEqual(24 * 3_600_000);
    await source.query(`UPDATE idempotency_keys SET expires = ${engineOf(source).dialect.now}`);
    const next = await client.post(COOKIE, headers);
    expect([next.status, next.headers.get('idempotency-replayed')]).toEqual([201, null]);
    expect(next.body.id).not.toBe(first.body.id);
    expectReplay(await client.post(COOKIE, headers), next);
  });

  it('is deleted when it has expired, in steps of 500', async () => {
    await source.query('UPDATE idempotency_keys SET expires = 1');
    const headers = keyed();
    const first = await client.post(COOKIE, headers);
    for (let start = 0; start < 1200; start += 400) {
      const rows = Array.from({ length: 400 }, (_, index) => `('old ${start + index}', '', '', ${start + index})`);
      await source.query(`INSERT INTO idempotency_keys (id, fingerprint, result, expires) VALUES ${rows.join(', ')}`);
    }
    using transactions = jest.spyOn(engineOf(source), 'transaction');
    await deleteExpiredKeys(source, new AbortController().signal);
    expect(transactions.mock.calls.length).toBeGreaterThanOrEqual(3);
    expect(await keys()).toBe(1);
    expectReplay(await client.post(COOKIE, headers), first);
  });

  it('begins no transaction to delete expired keys when none has expired', async () => {
    await source.query(`UPDATE idempotency_keys SET expires = ${engineOf(source).dialect.now} + 60000`);
    using transactions = jest.spyOn(engineOf(source), 'transaction');
    await deleteExpiredKeys(source, new AbortController().signal);
    expect(transactions).not.toHaveBeenCalled();
  });

  describe('of an action', () => {
    const outing = async (): Promise<Answer> => {
      const { body: sleigh } = await send('/sleighs', { seats: 4 }, {});
      const times = { startsAt: '2027-01-01T10:00:00Z', endsAt: '2027-01-01T11:00:00Z' };
      return send('/outings', { sleighId: sleigh.id, guests: 2, ...times }, {});
    };

    it('returns the first response, whatever has happened to the record, and whatever If-Match says', async () => {
      const made = await outing();
      const path = made.headers.get('location')!;
      const headers = { ...keyed(), 'if-match': made.headers.get('etag')! };
      const first = await client.request('POST', `${path}/cancel`, { headers });
      expect([first.status, first.body.status]).toEqual([200, 'cancelled']);
      expectReplay(await client.request('POST', `${path}/cancel`, { headers }), first);
      await client.request('DELETE', path);
      expectReplay(await client.request('POST', `${path}/cancel`, { headers }), first);
      expect((await client.request('POST', `${path}/cancel`, { headers: keyed() })).status).toBe(404);
    });

    it('treats Content-Length: 0 and an empty body in chunks as the same request', async () => {
      const path = `${(await outing()).headers.get('location')!}/cancel`;
      const headers = keyed();
      const first = await client.request('POST', path, { headers });
      using http = new HttpClient(service.url);
      const fields = { ...jsonFields(await token({ scope: SCOPE }), false), ...headers };
      const repeated = await http.send('POST', path, { ...fields, 'transfer-encoding': 'chunked' });
      expect([first.status, repeated.status]).toEqual([200, 200]);
      expect(repeated.headers.get('idempotency-replayed')).toBe('true');
    });

    it('stores no 412, and is separate for each record', async () => {
      const paths = [await outing(), await outing()].map(({ headers }) => headers.get('location')!);
      const headers = keyed();
      const cancel = (path: string, more = {}) =>
        client.request('POST', `${path}/cancel`, { headers: { ...headers, ...more } });
      expectError(await cancel(paths[0]!, { 'if-match': '"stale"' }), 412, 'PRECONDITION_FAILED');
      const answers = [await cancel(paths[0]!), await cancel(paths[1]!)];
      expect(answers.map(({ status, headers: fields }) => [status, fields.get('idempotency-replayed')])).toEqual([
        [200, null],
        [200, null],
      ]);
    });
  });

  it('returns the first result of a transaction that makes several records', async () => {
    const headers = keyed();
    const before = await total();
    const first = await send('/batches/pair', COOKIE, headers);
    expect(first.body.ids).toHaveLength(2);
    expectReplay(await send('/batches/pair', COOKIE, headers), first);
    expect(await total()).toBe(before + 2);
  });

  it('fails a handler whose second write would get the result of the first', async () => {
    expect((await send('/batches/two-writes', COOKIE, {})).status).toBe(201);
    expectError(await send('/batches/two-writes', COOKIE, keyed()), 500, 'INTERNAL_SERVER_ERROR');
  });

  it.each([
    ['bytes', 'Snow'],
    ['stream', 'Snowflakes'],
  ])('compares a body of %s', async (route, other) => {
    const headers = { ...keyed(), 'content-type': 'text/plain' };
    const first = await send(`/batches/${route}`, 'Rain', headers);
    expect(first.body.wish).toBe('Rain');
    expectReplay(await send(`/batches/${route}`, 'Rain', headers), first);
    expectError(await send(`/batches/${route}`, other, headers), 422, 'IDEMPOTENCY_KEY_REUSED');
  });

  it('is 400 on a public route, where there is no subject', async () => {
    const stranger = Client.bearing(service);
    expect((await stranger.request('POST', '/batches/open', { body: COOKIE })).status).toBe(201);
    const answer = await stranger.request('POST', '/batches/open', { body: COOKIE, headers: keyed() });
    expectError(answer, 400, 'INVALID_REQUEST');
  });
});
