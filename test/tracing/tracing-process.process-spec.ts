import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ProxyTracerProvider, trace } from '@opentelemetry/api';
import { serviceVersion } from '../../src/config/service-version.js';
import { openDatabase } from '../../src/database/sqlite/better-sqlite3.js';
import { captureLog, problemsIn } from '../support/captured-log.js';
import { startLoggedService } from '../support/logged-service.js';
import { exchange } from '../support/raw-http.js';
import { ServiceProcess } from '../support/service-process.js';
import { Client, COOKIE, startService, temporaryFolder } from '../support/service.js';
import { Collector } from './collector.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE}-b7ad6b7169203331-01`;
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const untraced = '00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00';
/** Variables that the SDK of OpenTelemetry reads. */
const OF_THE_SDK = {
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20top-secret',
  OTEL_SERVICE_NAME: 'bakery',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0',
};

const FAULTS: [circumstance: string, respond: ((response: ServerResponse) => void) | undefined, reason: RegExp][] = [
  ['responds 500', (response) => void response.writeHead(500).end('secret'), /: Internal Server Error$/],
  ['is down', undefined, /: Spans were not sent within 2000 ms$/],
];

async function scrape(managementUrl: string, accept: string) {
  const response = await fetch(`${managementUrl}/metrics`, { headers: { accept } });
  return { type: response.headers.get('content-type'), text: await response.text() };
}

/** Uses a service until SIGTERM, and returns its log and the names of the loaded OpenTelemetry packages. */
async function logOf(environment: Record<string, string>) {
  const folder = temporaryFolder();
  const hook = join(folder, 'loaded.cjs');
  writeFileSync(hook, `process.on('exit', () => console.error('loaded:' + Object.keys(require.cache).join('\\n')))`);
  const settings = { NODE_OPTIONS: `--require=${hook}`, DATABASE_BUSY_TIMEOUT: '100', ...environment };
  await using service = await ServiceProcess.start(folder, settings);
  const client = Client.of(service);
  expect((await client.post(COOKIE, { traceparent })).status).toBe(201);
  const other = openDatabase(join(folder, 'cookies.sqlite'));
  other.exec('BEGIN IMMEDIATE');
  expect((await client.post(COOKIE, { traceparent })).status).toBe(503);
  other.close();
  await client.get('/cookies');
  await client.get('/cookies', { traceparent: untraced });
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
  it('sends its last spans at SIGTERM, obeys the variables of the SDK, and has the ids in its log', async () => {
    await using collector = await Collector.start();
    const { lines, output } = await logOf({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...OF_THE_SDK });
    // With OTEL_TRACES_SAMPLER_ARG=0, only requests that the caller traces.
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
    const requests = lines.filter(({ msg }) => msg === 'request');
    expect(requests.filter(({ trace_id: id }) => id === TRACE)).toMatchObject(ids);
    expect(requests.at(-1)).toMatchObject({ status: 400 });
    expect(requests.at(-1)).not.toHaveProperty('trace_id');
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([{ ...ids[1], context: 'Error' }]);
    expect(lines.filter(({ trace_id: id }) => id === TRACE)).toHaveLength(4);
  });

  it('warns in the lines of its log beside another SDK in the process', async () => {
    await using collector = await Collector.start();
    trace.setGlobalTracerProvider(new ProxyTracerProvider());
    await using service = await startLoggedService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const lines = service.output.split('\n').filter((line) => line.includes('"level":"warn"'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { context: 'Tracing', msg: expect.stringContaining('duplicate registration') as string },
    ]);
  });

  it('has one instance for each of its workers, and the exemplars of all', async () => {
    await using collector = await Collector.start();
    const environment = { WORKERS: '2', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    await using service = await ServiceProcess.start(temporaryFolder(), environment);
    const client = Client.of(service);
    await client.get('/cookies/1', { traceparent });
    const exemplars = async (): Promise<string[]> =>
      (await scrape(service.managementUrl, OPEN_METRICS)).text
        .split('\n')
        .filter((line) => line.includes(` # {trace_id="${TRACE}"}`));
    const one = await exemplars();
    expect(one).toHaveLength(1);
    // The sums of ended workers keep their exemplars.
    service.child.kill('SIGHUP');
    await service.printed('The workers are replaced');
    expect(await exemplars()).toEqual(one);
    expect((await scrape(service.managementUrl, 'text/plain')).text).not.toContain(TRACE);
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await client.get('/cookies')).status));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await service.end('SIGTERM')).toBe(0);
    const requests = collector.named('GET /cookies');
    expect(requests).toHaveLength(100);
    expect(new Set(requests.map(({ resource }) => resource['service.instance.id'] as string)).size).toBe(2);
  });

  it.each(FAULTS)('serves beside a collector that %s, with one warning', async (_circumstance, respond, reason) => {
    await using collector = await Collector.start(respond);
    const endpoint = respond === undefined ? 'http://127.0.0.1:9' : collector.url;
    const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, LOG_LEVEL: 'silent' });
    const log = captureLog();
    const client = Client.of(service);
    // The spans of the requests alone are more than fit into one export (512).
    const writers = Array.from({ length: 64 }, async () => {
      for (let write = 0; write < 9; write++) expect((await client.post(COOKIE)).status).toBe(201);
    });
    await Promise.all(writers).finally(() => service.stop());
    Logger.overrideLogger(false);
    if (respond !== undefined) expect(collector.requests.length).toBeGreaterThan(1);
    const problems = problemsIn(log);
    expect(problems).toMatchObject([{ level: 'warn', message: expect.stringMatching(reason) }]);
    expect(problems[0]!.message).toContain(`Problem with the traces for ${endpoint}: `);
  });

  it('stops in time beside a collector that never responds', async () => {
    await using collector = await Collector.start(() => undefined);
    await using service = await ServiceProcess.start(temporaryFolder(), { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect((await Client.of(service).post(COOKIE)).status).toBe(201);
    const began = performance.now();
    expect(await service.end('SIGTERM')).toBe(0);
    // The SDK itself would retry for 10 s.
    expect(performance.now() - began).toBeLessThan(7000);
    await service.outputEnd();
    // A busy disk makes a statement slow, which has a line, too.
    expect(service.lines.filter(({ level, context }) => level !== 'info' && context !== 'Database')).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/: Spans were not sent within 2000 ms$/) },
    ]);
  });
});

it('GET /metrics that asks for OpenMetrics has the trace of the last sampled request as an exemplar while tracing is on', async () => {
  await using collector = await Collector.start();
  await using service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const client = Client.of(service);
  await client.get('/cookies/1', { traceparent });
  await client.get('/cookies/x', { traceparent: untraced });
  const { type, text } = await scrape(service.managementUrl, OPEN_METRICS);
  expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  const buckets = text.split('\n').filter((line) => line.startsWith('http_request_duration_seconds_bucket'));
  const exemplars = buckets.filter((line) => line.includes(' # {'));
  expect(exemplars).toHaveLength(1);
  expect(exemplars[0]).toContain('route="/cookies/:id",status="404"');
  expect(exemplars[0]).toMatch(new RegExp(` 1 # \\{trace_id="${TRACE}"\\} [0-9.e-]+ [0-9.]+$`));
  expect(text).toContain('\n# TYPE database_errors counter\ndatabase_errors_total{kind="corrupt"} 0\n');
  expect(text.endsWith('\n# EOF\n')).toBe(true);
  // The format of one scrape does not change the next scrape in the other format.
  const plain = await scrape(service.managementUrl, 'text/plain');
  expect(plain.type).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(plain.text).toContain('\ndatabase_errors_total{kind="corrupt"} 0\n');
  expect(plain.text).not.toContain(TRACE);
});

it('a service without OTEL_EXPORTER_OTLP_ENDPOINT loads nothing of the SDK, and has no ids in its log', async () => {
  const { output, loaded } = await logOf({});
  // `prom-client` loads the OpenTelemetry API.
  expect([...loaded]).toEqual(['@opentelemetry/api']);
  expect(output).not.toContain('trace_id');
});
