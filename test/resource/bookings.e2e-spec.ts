import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { CreateBookings1790000400000 } from '../bookings/create-bookings.js';
import { ClosingModule } from '../bookings/closing.module.js';
import { PurgeModule } from '../bookings/purge.module.js';
import { BookingsModule } from '../bookings/bookings.module.js';
import { BookingsService } from '../bookings/bookings.service.js';
import { PageQuery } from '../../src/resource/store/page-query.js';
import { RecordScope } from '../../src/resource/store/record-scope.js';
import { engineInUse } from '../support/engine.js';
import { type Answer, Client, type Service, startService } from '../support/service.js';

const SCOPE = 'tables:write bookings:read bookings:write';

/** A resource whose rules go beyond CRUD, as `docs/extending.md` shows them. */
describe(`tables and bookings (${engineInUse()})`, () => {
  let service: Service;
  let alice: Client;
  let bob: Client;
  let stranger: Client;
  let tableId: number;

  beforeAll(async () => {
    Logger.overrideLogger(false);
    service = await startService(
      { LOG_LEVEL: 'silent' },
      [BookingsModule, ClosingModule, PurgeModule],
      [new CreateBookings1790000400000()],
    );
    alice = await Client.of(service, { scope: SCOPE });
    bob = await Client.of(service, { scope: SCOPE, subject: 'bob' });
    stranger = Client.bearing(service);
  });

  afterAll(() => service.stop());

  beforeEach(async () => {
    tableId = (await alice.request('POST', '/tables', { body: { seats: 4 } })).body.id;
  });

  const etagOf = ({ headers }: Answer): string => headers.get('etag')!;
  const book = (guests = 2, client = alice, table = tableId): Promise<Answer> =>
    client.request('POST', '/bookings', { body: { tableId: table, guests } });
  const act = (id: number, action: string, headers?: Record<string, string>): Promise<Answer> =>
    alice.request('POST', `/bookings/${id}/${action}`, { headers });
  const idsOf = ({ body }: Answer): number[] => body.map(({ id }: { id: number }) => id);

  describe('an action', () => {
    it('returns 200 with the record and its ETag, and the second time the same', async () => {
      const { body: booking } = await book();
      const first = await act(booking.id, 'cancel');
      expect(first).toMatchObject({ status: 200, body: { ...booking, status: 'cancelled' } });
      const list = await alice.get('/bookings');
      const second = await act(booking.id, 'cancel');
      expect([second.status, second.text, etagOf(second)]).toEqual([200, first.text, etagOf(first)]);
      expect(etagOf(await alice.get(`/bookings/${booking.id}`))).toBe(etagOf(first));
      expect((await alice.get('/bookings', { 'if-none-match': etagOf(list) })).status).toBe(304);
    });

    it('returns 404 for an unknown record, and 400 for an id or a parameter that is wrong', async () => {
      expect(await act(999_999, 'cancel')).toMatchObject({ status: 404, body: { errorCode: 'BOOKING_NOT_FOUND' } });
      expect((await act(0, 'cancel')).status).toBe(400);
      expect((await alice.request('POST', '/bookings/1/cancel?force=true')).status).toBe(400);
    });

    it('returns 412 before the error of its rule, which is 409 and changes nothing', async () => {
      const { body } = await book();
      const bookings = service.app.get(BookingsService, { strict: false });
      await bookings.records.update(body.id, { status: 'seated' });
      const before = await alice.get(`/bookings/${body.id}`);
      const stale = { 'if-match': '"stale"' };
      expect((await act(body.id, 'cancel', stale)).status).toBe(412);
      expect(await act(body.id, 'cancel', { 'if-match': etagOf(before) })).toMatchObject({
        status: 409,
        body: { errorCode: 'ALREADY_SEATED', message: `The guests of booking ${body.id} are seated` },
      });
      const after = await alice.get(`/bookings/${body.id}`);
      expect([after.text, etagOf(after)]).toEqual([before.text, etagOf(before)]);
    });

    it('fails alone among actions that share a transaction', async () => {
      const ids: number[] = [];
      for (let count = 0; count < 6; count++) ids.push((await book()).body.id);
      const bookings = service.app.get(BookingsService, { strict: false });
      await bookings.records.update(ids[2]!, { status: 'seated' });
      const results = await Promise.allSettled(ids.map((id) => bookings.cancel(id)));
      expect(results.map(({ status }) => status === 'fulfilled')).toEqual(ids.map((id) => id !== ids[2]));
      expect(results[2]).toMatchObject({ reason: { errorCode: 'ALREADY_SEATED' } });
    });

    it('decides on the record as it is stored, whatever happens at the same time', async () => {
      const { body } = await book();
      const bookings = service.app.get(BookingsService, { strict: false });
      await Promise.all(
        Array.from({ length: 64 }, () => bookings.records.update(body.id, ({ guests }) => ({ guests: guests + 1 }))),
      );
      expect((await alice.get(`/bookings/${body.id}`)).body.guests).toBe(66);
    });
  });

  describe('a list below a table', () => {
    it('has the bookings of the table alone, with filters, sorts, pages and no X-Total-Count', async () => {
      const { id: other } = (await alice.request('POST', '/tables', { body: { seats: 2 } })).body;
      const ids: number[] = [];
      for (const guests of [3, 1, 2, 5]) {
        ids.push((await book(guests)).body.id);
        await book(guests, alice, other);
      }
      const path = `/tables/${tableId}/bookings`;
      const all = await alice.get(path);
      expect([idsOf(all), all.headers.get('x-total-count')]).toEqual([ids, null]);
      await act(ids[0]!, 'cancel');
      expect(idsOf(await alice.get(`${path}?status=booked&guestsFrom=2`))).toEqual([ids[2], ids[3]]);
      const seen: number[] = [];
      let next: string | undefined = `${path}?sort=-guests&limit=3`;
      for (let pages = 0; next !== undefined && pages < 5; pages++) {
        const page: Answer = await alice.get(next);
        seen.push(...idsOf(page));
        next = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
      }
      expect(seen).toEqual([ids[3], ids[0], ids[2], ids[1]]);
      expect((await alice.get(`${path}?tableId=1`)).status).toBe(400);
      expect(await alice.get(`/tables/999999/bookings`)).toMatchObject({
        status: 404,
        body: { errorCode: 'TABLE_NOT_FOUND' },
      });
    });

    it('is 304 until a booking changes', async () => {
      await book();
      const path = `/tables/${tableId}/bookings`;
      const first = await alice.get(path);
      expect((await alice.get(path, { 'if-none-match': etagOf(first) })).status).toBe(304);
      await book();
      const second = await alice.get(path, { 'if-none-match': etagOf(first) });
      expect([second.status, idsOf(second)]).toEqual([200, [...idsOf(first), expect.any(Number)]]);
    });

    it('reads on SQLite no rows of other tables, but those that the index of the reference has', async () => {
      if (engineInUse() !== 'sqlite') return;
      const { records } = service.app.get(BookingsService, { strict: false });
      const scope = new RecordScope(records.table).and({ deletedAt: null }).and({ tableId });
      const query = new PageQuery(scope, { order: 'descending' });
      const page = query.scanned(query.segmentsBeyond({ value: 1000, id: 1000 })[0]!, 100);
      const text = `EXPLAIN QUERY PLAN SELECT * ${page.sql}`;
      const steps: { detail: string }[] = await records.table.dataSource.query(text, [...page.parameters]);
      const plan = steps.map(({ detail }) => detail).join('; ');
      expect(plan).toMatch(/SEARCH bookings USING INDEX \S+ \(tableId=\? AND rowid<\?\)/);
      expect(plan).not.toContain('TEMP B-TREE');
    });

    it('is streamed whole when it is long', async () => {
      const bookings = service.app.get(BookingsService, { strict: false });
      const booking = { tableId, guests: 2, status: 'booked', owner: 'alice' } as const;
      await Promise.all(Array.from({ length: 2500 }, () => bookings.records.create(booking)));
      const { body } = await alice.get(`/tables/${tableId}/bookings`);
      expect(body).toHaveLength(2500);
      expect(new Set(body.map((one: { tableId: number }) => one.tableId))).toEqual(new Set([tableId]));
      expect((await alice.get(`/tables/${tableId}/bookings?sort=-guests`)).body).toHaveLength(2500);
    });
  });

  it('a list of the own records at one URL gives each subject those of the subject alone', async () => {
    const { body: one } = await book(2, alice);
    const { body: two } = await book(2, bob);
    for (let round = 0; round < 2; round++) {
      const [ofAlice, ofBob] = [await alice.get('/bookings/mine'), await bob.get('/bookings/mine')];
      expect([ofAlice.body.at(-1).id, idsOf(ofBob)]).toEqual([one.id, expect.arrayContaining([two.id])]);
      expect(idsOf(ofAlice)).not.toContain(two.id);
      expect(idsOf(ofBob)).not.toContain(one.id);
    }
  });

  it('a scope without a value is an error, and not all records', () => {
    const { records } = service.app.get(BookingsService, { strict: false });
    expect(() => records.where({ owner: undefined })).toThrow('where() needs a value for owner, or null');
  });

  describe('a public route', () => {
    it.each(['', '/1'])('GET /tables%s needs no token, and shared caches may store it', async (path) => {
      for (const client of [stranger, alice]) {
        const answer = await client.get(`/tables${path}`);
        expect(answer.status).toBe(200);
        expect(answer.headers.get('cache-control')).toBe('public, no-cache');
        expect(answer.headers.get('vary') ?? '').not.toContain('Authorization');
        const again = await client.get(`/tables${path}`, { 'if-none-match': etagOf(answer) });
        expect([again.status, again.headers.get('cache-control')]).toEqual([304, 'public, no-cache']);
      }
    });

    it('returns 401 to a token that is not valid, and other methods to no token', async () => {
      const forged = Client.bearing(service, 'no-token');
      for (const method of ['GET', 'HEAD']) expect((await forged.request(method, '/tables')).status).toBe(401);
      expect((await stranger.request('POST', '/tables', { body: { seats: 1 } })).status).toBe(401);
      const missing = await stranger.get('/tables/999999');
      expect([missing.status, missing.headers.get('cache-control')]).toEqual([404, 'no-store']);
    });
  });

  describe('a deleted booking', () => {
    it('is 404 and in no list, and keeps its place until it is restored', async () => {
      const { body } = await book();
      const path = `/bookings/${body.id}`;
      const usage = () => service.app.get(BookingsService, { strict: false }).all.usage();
      const { count } = await usage();
      const list = await alice.get('/bookings');
      expect((await alice.request('DELETE', path, { headers: { 'if-match': '"stale"' } })).status).toBe(412);
      expect((await alice.request('DELETE', path)).status).toBe(204);
      expect((await alice.get('/bookings', { 'if-none-match': etagOf(list) })).status).toBe(200);
      for (const [method, body] of [['GET'], ['PATCH', { guests: 3 }], ['DELETE']] as const) {
        const headers = { 'if-match': '"stale"' };
        expect((await alice.request(method, path, { body, headers })).status).toBe(404);
      }
      expect((await act(body.id, 'cancel')).status).toBe(404);
      for (const lists of ['/bookings', `/tables/${tableId}/bookings`, '/bookings/mine']) {
        expect(idsOf(await alice.get(lists))).not.toContain(body.id);
      }
      expect((await usage()).count).toBe(count);
      expect(await act(body.id, 'restore')).toMatchObject({ status: 200, body });
      expect(await alice.get(path)).toMatchObject({ status: 200, body });
      expect(idsOf(await alice.get('/bookings'))).toContain(body.id);
    });
  });

  describe('a feature that knows both', () => {
    it('POST /tables/{id}/close closes the table and cancels its bookings, or neither', async () => {
      const { body: booking, headers } = await book();
      const closing = await alice.request('POST', `/tables/${tableId}/close`);
      expect(closing.status).toBe(204);
      expect((await alice.get(`/tables/${tableId}`)).body.isOpen).toBe(false);
      const cancelled = await alice.get(`/bookings/${booking.id}`, { 'if-none-match': headers.get('etag')! });
      expect(cancelled).toMatchObject({ status: 200, body: { status: 'cancelled' } });
      expect((await alice.request('POST', '/tables/999999/close')).status).toBe(404);
      const bookings = service.app.get(BookingsService, { strict: false });
      const failing = jest.spyOn(bookings, 'cancelOfTable').mockRejectedValueOnce(new Error('no'));
      const { id } = (await alice.request('POST', '/tables', { body: { seats: 4 } })).body;
      expect((await alice.request('POST', `/tables/${id}/close`)).status).toBe(500);
      expect((await alice.get(`/tables/${id}`)).body.isOpen).toBe(true);
      failing.mockRestore();
    });
  });

  describe('scheduled work', () => {
    it('deletes old bookings in batches, frees their places, and is not due again', async () => {
      const { all, records } = service.app.get(BookingsService, { strict: false });
      const deletedAt = (days: number) => new Date(Date.now() - days * 24 * 3_600_000);
      const booking = { tableId, guests: 2, status: 'booked', owner: 'alice' } as const;
      const old = Array.from({ length: 250 }, () => ({ ...booking, deletedAt: deletedAt(31) }));
      await Promise.all(old.map((each) => records.create(each)));
      const { record: kept } = await records.create({ ...booking, deletedAt: deletedAt(29) });
      const { count } = await all.usage();
      const job = service.app.get(SchedulerRegistry, { strict: false }).getCronJob('purge');
      expect(job.nextDate().setZone('Europe/Berlin').hour).toBe(3);
      await job.fireOnTick();
      expect((await all.usage()).count).toBe(count - 250);
      expect((await all.get(kept.id)).record).toEqual(kept);
      await records.create({ ...booking, deletedAt: deletedAt(31) });
      await job.fireOnTick();
      expect((await all.usage()).count).toBe(count - 249);
    });
  });

  it('docs/extending.md shows this code', () => {
    const folder = join(import.meta.dirname, '../..');
    const guide = readFileSync(join(folder, 'docs/extending.md'), 'utf8');
    const excerpts = [...guide.matchAll(/```ts\n\/\/ in (test\/bookings\/\S+)\n([\s\S]*?)```/g)];
    const withoutIndent = (text: string): string => text.replaceAll(/^ +/gm, '').trim();
    const missing = excerpts.filter(([, path, text]) => {
      return !withoutIndent(readFileSync(join(folder, path!), 'utf8')).includes(withoutIndent(text!));
    });
    expect(missing.map(([, path, text]) => `${path}: ${text}`)).toEqual([]);
    expect(excerpts.length).toBeGreaterThanOrEqual(6);
  });

  describe('the document', () => {
    let document: any;

    beforeAll(async () => {
      document = await (await fetch(`${service.url}/openapi.json`)).json();
    });

    it('describes an action', () => {
      const { operationId, responses, parameters, security } = document.paths['/bookings/{id}/cancel'].post;
      expect([operationId, security]).toEqual(['cancelBooking', [{ bearer: [] }]]);
      expect(parameters.map(({ name }: { name: string }) => name)).toEqual(
        expect.arrayContaining(['id', 'If-Match', 'If-None-Match']),
      );
      for (const status of [200, 400, 401, 403, 404, 409, 412, 428, 503, 507]) {
        expect(Object.keys(responses)).toContain(String(status));
      }
      expect(responses[409].content['application/json'].examples.seated.value.errorCode).toBe('ALREADY_SEATED');
    });

    it('describes a list below a parent and a second list, each with its own operation', () => {
      const below = document.paths['/tables/{id}/bookings'].get;
      expect(below.operationId).toBe('listBookingsOfTable');
      const names = below.parameters.map(({ name }: { name: string }) => name);
      expect(names).toEqual(expect.arrayContaining(['id', 'limit', 'after', 'sort', 'status', 'guestsFrom']));
      expect(names).not.toContain('tableId');
      expect(below.responses[404].content['application/json'].examples.absent.value.errorCode).toBe('TABLE_NOT_FOUND');
      expect(Object.keys(below.responses[200].headers)).not.toContain('X-Total-Count');
      expect(document.paths['/bookings/mine'].get.operationId).toBe('listOwnBookings');
    });

    it('says that a public route needs no token', () => {
      const { get, post } = document.paths['/tables'];
      expect([get.security, post.security]).toEqual([[{}, { bearer: [] }], [{ bearer: [] }]]);
      expect(get.responses[403]).toBeUndefined();
      expect(get.responses[401]).toBeDefined();
      const { $ref } = get.responses[200].headers['Cache-Control'];
      expect(document.components.headers[$ref.split('/').at(-1)].example).toBe('public, no-cache');
      expect(Object.keys(get.responses[200].headers)).not.toContain('Vary');
      expect(JSON.stringify(document)).not.toContain('x-access');
    });
  });
});

describe('REQUIRE_IF_MATCH', () => {
  it('makes an action without If-Match 428, and 404 for a deleted record', async () => {
    const environment = { LOG_LEVEL: 'silent', REQUIRE_IF_MATCH: 'true' };
    const service = await startService(environment, [BookingsModule], [new CreateBookings1790000400000()]);
    const client = await Client.of(service, { scope: SCOPE });
    const { id: tableId } = (await client.request('POST', '/tables', { body: { seats: 4 } })).body;
    const { body, headers } = await client.request('POST', '/bookings', { body: { tableId, guests: 2 } });
    const cancel = (ifMatch?: string) =>
      client.request('POST', `/bookings/${body.id}/cancel`, { headers: ifMatch ? { 'if-match': ifMatch } : {} });
    expect((await cancel()).status).toBe(428);
    const cancelled = await cancel(headers.get('etag')!);
    expect(cancelled.status).toBe(200);
    await client.request('DELETE', `/bookings/${body.id}`, { headers: { 'if-match': cancelled.headers.get('etag')! } });
    expect((await cancel()).status).toBe(404);
    await service.stop();
  });
});
