import { setTimeout as sleep } from 'node:timers/promises';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { DataSource } from 'typeorm';
import { Public } from '../../src/auth/scopes.decorator.js';
import { Batcher } from '../../src/database/batcher.js';
import { transaction } from '../../src/database/engine.js';
import { engineInUse } from '../support/engine.js';
import { Client, COOKIE, startService } from '../support/service.js';
import { shared } from '../support/shared.js';
import { type CollectedSpan, Collector } from './collector.js';

const CLIENTS = 64;
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const isSqlite = engineInUse() === 'sqlite';

const collector = shared(() => Collector.start());

/** A provider of a team that makes spans with the OpenTelemetry API only. */
@Injectable()
class Bakery {
  constructor(private readonly dataSource: DataSource) {}

  bake(): Promise<void> {
    return trace.getTracer('bakery').startActiveSpan('bake', async (span) => {
      await sleep(5);
      await this.dataSource.query(`SELECT 'from secret' AS "it's", 42 AS cakes`);
      await this.dataSource.transaction((manager) => manager.query("SELECT 1 FROM storage WHERE resource = 'x'"));
      span.end();
    });
  }
}

/** Five items in batches of two; then three transactions and two statements at the same time. */
async function share(dataSource: DataSource): Promise<void> {
  const run = async (items: number[]): Promise<number[]> => {
    await dataSource.query('SELECT 1 FROM storage');
    return items;
  };
  const batcher = new Batcher(run, { kind: 'write', maxBatchSize: 2, timeout: 5000 });
  await Promise.all([1, 2, 3, 4, 5].map((item) => batcher.load(item)));
  const sql = 'UPDATE storage SET used = used';
  const write = () => dataSource.transaction((manager) => manager.query(sql).then(() => sleep(5)));
  const writeLater = () =>
    trace.getTracer('bakery').startActiveSpan('later', async (span) => {
      await sleep(2);
      await dataSource.query(sql);
      span.end();
    });
  await Promise.all([write(), write(), write(), writeLater(), writeLater()]);
}

@Controller('bakery')
@Public()
class BakeryController {
  constructor(
    private readonly bakery: Bakery,
    private readonly dataSource: DataSource,
  ) {}

  @Get('share')
  share(): Promise<void> {
    return share(this.dataSource);
  }

  @Get('bake/:id')
  bake(): Promise<void> {
    return this.bakery.bake();
  }

  @Get('burn')
  burn(): Promise<unknown> {
    return transaction(this.dataSource, (tx) => tx.query('SELECT burnt', []));
  }

  @Get('order')
  async order(): Promise<void> {
    await fetch(`${collector.url}/order`);
  }
}

@Module({ controllers: [BakeryController], providers: [Bakery] })
class BakeryModule {}

describe('the spans that a collector gets', () => {
  let posted: CollectedSpan;

  beforeAll(async () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, LOG_LEVEL: 'silent' };
    const service = await startService(environment, [BakeryModule]);
    try {
      const client = Client.of(service);
      expect((await client.post(COOKIE, { traceparent, 'x-request-id': 'posted' })).status).toBe(201);
      expect((await client.get('/cookies/1?wish=secret', { traceparent: 'nonsense' })).status).toBe(400);
      expect((await client.get('/nowhere')).status).toBe(404);
      expect((await client.get('/bakery/bake/7')).status).toBe(200);
      expect((await client.get('/bakery/share')).status).toBe(200);
      expect((await client.get('/bakery/burn')).status).toBe(500);
      expect((await client.get('/bakery/order', { traceparent })).status).toBe(200);
      // The first writes open the connections, one after the other.
      for (let round = 0; round < 3; round++) {
        await Promise.all(Array.from({ length: CLIENTS }, () => client.post(COOKIE)));
      }
    } finally {
      await service.stop();
    }
    posted = collector.named('POST /cookies').find(({ traceId }) => traceId === CALLER.traceId)!;
  });

  const milliseconds = ({ startTimeUnixNano, endTimeUnixNano }: CollectedSpan): number =>
    Number(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)) / 1e6;

  it('have a span of a POST below the traceparent of its caller, by the conventions for HTTP', () => {
    expect(posted).toMatchObject({ parentSpanId: CALLER.spanId, kind: 2, status: { code: 0 } });
    expect(posted.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/cookies',
      'url.path': '/cookies',
      'url.scheme': 'http',
      'http.response.status_code': 201,
      'http.response.header.x-request-id': ['posted'],
      'client.address': '127.0.0.1',
    });
    expect(milliseconds(posted)).toBeGreaterThan(0);
    expect(posted.resource).toMatchObject({ 'service.name': 'cookies', 'service.instance.id': expect.any(String) });
  });

  it('have its batch, its transaction and its statements below it, without any value', () => {
    const [batch, ...others] = collector.below(posted);
    expect([batch!.name, others]).toEqual(['batch', []]);
    expect(batch!.attributes).toEqual({ 'batch.size': 1, 'batch.wait_ms': expect.any(Number) });
    const [transaction] = collector.below(batch!);
    expect(transaction!.name).toBe('transaction');
    const parts = collector.below(transaction!);
    const insert = parts.find(({ name }) => name === 'INSERT cookies')!;
    expect(insert).toMatchObject({
      kind: 3,
      attributes: {
        'db.system.name': isSqlite ? 'sqlite' : 'postgresql',
        'db.operation.name': 'INSERT',
        'db.query.text': expect.stringMatching(/^INSERT INTO "?cookies/),
      },
    });
    if (isSqlite) {
      expect(parts.find(({ name }) => name === 'commit')!.attributes).toEqual({ 'commit.transactions': 1 });
    } else expect(parts.map(({ name }) => name)).toContain('COMMIT');
    for (const part of parts) expect(milliseconds(part)).toBeLessThanOrEqual(milliseconds(posted));
    expect(JSON.stringify(collector.spans)).not.toContain(COOKIE.wish);
  });

  it('begin a new trace if the traceparent is invalid, with the route and without the query', () => {
    const [span] = collector.named('GET /cookies/:id');
    expect(span!.parentSpanId).toBeUndefined();
    expect(span!.attributes).toMatchObject({ 'http.route': '/cookies/:id', 'url.path': '/cookies/1' });
    expect(span!.status.code).toBe(0);
    expect(JSON.stringify(collector.spans)).not.toContain('secret');
  });

  it('have only the method as the name without a route, and an error if the response is 500', () => {
    const [unrouted] = collector.named('GET');
    expect(unrouted!.attributes).toMatchObject({ 'url.path': '/nowhere', 'http.response.status_code': 404 });
    expect(unrouted!.attributes).not.toHaveProperty('http.route');
    const [failed] = collector.named('GET /bakery/burn');
    expect(failed).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': '500' } });
    const code = isSqlite ? 'SQLITE_ERROR' : '42703';
    expect(collector.below(failed!)[0]).toMatchObject({ name: 'transaction', attributes: { 'error.type': code } });
  });

  it('have the spans of a module below the span of its request, and its statements below its spans', () => {
    const [request] = collector.named('GET /bakery/bake/:id');
    const [bake, ...others] = collector.below(request!);
    expect([bake!.name, bake!.scope, others]).toEqual(['bake', 'bakery', []]);
    const statements = collector.below(bake!);
    const texts = statements.map(({ attributes }) => attributes['db.query.text'] as string);
    expect(texts).toContain('SELECT ? AS "it\'s", ? AS cakes');
    expect(texts.filter((text) => text?.startsWith('SELECT ? FROM storage'))).toHaveLength(1);
  });

  it('have the statements of each batch below its first item, and name the items that share a commit', () => {
    const [request] = collector.named('GET /bakery/share');
    const batches = collector.below(request!).filter(({ name }) => name === 'batch');
    expect(batches.map(({ attributes }) => Number(attributes['batch.size'])).sort()).toEqual([1, 2, 2, 2, 2]);
    const statements = batches.map((batch) => collector.below(batch).map(({ name }) => name));
    expect(statements.filter((names) => names.length > 0)).toEqual(Array(3).fill(['SELECT storage']));
    const later = collector.named('later').map((span) => collector.below(span).map(({ name }) => name));
    expect(later).toEqual([expect.arrayContaining(['UPDATE storage']), expect.arrayContaining(['UPDATE storage'])]);
    const commits = collector.named('commit').map(({ attributes }) => Number(attributes['commit.transactions']));
    if (isSqlite) expect(Math.max(...commits)).toBeGreaterThan(1);
  });

  it('link each POST that shares a transaction to the batch that has it, whose size is their number', () => {
    const batches = collector
      .named('POST /cookies')
      .filter((span) => span !== posted)
      .flatMap((span) => collector.below(span));
    expect(batches.map(({ name }) => name)).toEqual(Array(3 * CLIENTS).fill('batch'));
    const links = batches.flatMap((batch) => batch.links.map(({ spanId }) => spanId));
    const leaders = batches.filter((batch) => collector.below(batch).length > 0);
    const sizes = leaders.map(({ attributes }) => Number(attributes['batch.size']));
    expect(sizes).toEqual(leaders.map(({ spanId }) => 1 + links.filter((link) => link === spanId).length));
    expect(Math.max(...sizes)).toBeGreaterThan(1);
  });

  it('continue in another service that a handler calls by fetch', () => {
    const [span] = collector.named('GET /bakery/order');
    const { headers } = collector.requests.find(({ path }) => path === '/order')!;
    expect(headers['traceparent']).toBe(`00-${CALLER.traceId}-${span!.spanId}-01`);
  });
});
