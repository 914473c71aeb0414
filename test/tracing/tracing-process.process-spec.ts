import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceVersion } from '../../src/config/service-version.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { exchange } from '../support/raw-http.js';
import { ServiceProcess } from '../support/service-process.js';
import { Client, COOKIE, temporaryFolder } from '../support/service.js';
import { Collector } from './collector.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
const HEADERS = { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20top-secret' };
const NAMES = { OTEL_SERVICE_NAME: 'bakery', OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' };

const start = (environment: Record<string, string>) => ServiceProcess.start(temporaryFolder(), environment);

/** Uses a service until SIGTERM, and returns its log and the names of the loaded OpenTelemetry packages. */
async function logOf(environment: Record<string, string>) {
  const folder = temporaryFolder();
  const hook = join(folder, 'loaded.cjs');
  writeFileSync(hook, `process.on('exit', () => console.error('loaded:' + Object.keys(require.cache).join('\\n')))`);
  const settings = { NODE_OPTIONS: `--require=${hook}`, DATABASE_BUSY_TIMEOUT: '100', ...environment };
  await using service = await ServiceProcess.start(folder, settings);
  const client = await Client.of(service);
  expect((await client.post(COOKIE, { traceparent })).status).toBe(201);
  const other = openDatabase(join(folder, 'cookies.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  expect((await client.post(COOKIE, { traceparent })).status).toBe(503);
  other.close();
  // Fastify does not route the second request, which runs in the context of the first one.
  const head = `Host: x\r\ntraceparent: ${traceparent}\r\nConnection: `;
  await exchange(
    service,
    Buffer.from(`GET /x HTTP/1.1\r\n${head}keep-alive\r\n\r\nGET /%zz HTTP/1.1\r\n${head}close\r\n\r\n`),
  );
  expect(await service.end('SIGTERM')).toBe(0);
  await service.outputEnd();
  const { lines, output } = service;
  return { lines, output, loaded: new Set(output.match(/@opentelemetry\/[\w-]+(?=\/)/g)) };
}

describe('a service with OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  it('sends its last spans at SIGTERM, is named by OTEL_SERVICE_NAME, and has the ids in its log', async () => {
    await using collector = await Collector.start();
    const { lines, output } = await logOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...HEADERS, ...NAMES });
    const spans = collector.spans.filter(({ kind }) => kind === 2);
    expect(spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([201, 503, 404]);
    expect(spans[0]!.resource).toMatchObject({
      'service.name': 'bakery',
      'service.version': serviceVersion(),
      'deployment.environment.name': 'test',
    });
    expect(collector.requests[0]).toMatchObject({
      path: '/v1/traces',
      headers: { authorization: 'Bearer top-secret' },
    });
    expect(output).not.toContain('top-secret');
    const ids = spans.map(({ spanId }) => ({ trace_id: TRACE, span_id: spanId }));
    expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([...ids, { status: 400 }]);
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([{ ...ids[1], context: 'Error' }]);
    expect(lines.filter((line) => 'trace_id' in line)).toHaveLength(4);
  });

  it('traces only requests that the caller traces, at OTEL_TRACES_SAMPLER_ARG=0', async () => {
    await using collector = await Collector.start();
    const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' };
    await using service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler });
    const client = await Client.of(service);
    await client.get('/cookies');
    await client.get('/cookies', { traceparent: traceparent.replace(/01$/, '00') });
    await client.get('/cookies/1', { traceparent });
    expect(await service.end('SIGTERM')).toBe(0);
    const requests = collector.spans.filter(({ kind }) => kind === 2);
    expect(requests).toMatchObject([{ traceId: TRACE, name: 'GET /cookies/:id' }]);
  });

  it('has one instance for each of its workers', async () => {
    await using collector = await Collector.start();
    await using service = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, WORKERS: '2' });
    const client = await Client.of(service);
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await client.get('/cookies')).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await service.end('SIGTERM')).toBe(0);
    const requests = collector.named('GET /cookies');
    expect(requests).toHaveLength(100);
    expect(new Set(requests.map(({ resource }) => resource['service.instance.id'] as string)).size).toBe(2);
  });
});

describe('a service without it', () => {
  it('loads nothing of the SDK, and has no ids in its log', async () => {
    const { output, loaded } = await logOf({});
    // `prom-client` loads the OpenTelemetry API.
    expect([...loaded]).toEqual(['@opentelemetry/api']);
    expect(output).not.toContain('trace_id');
  });
});
