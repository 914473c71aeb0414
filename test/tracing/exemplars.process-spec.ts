import { Client, startService, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { Collector } from './collector.js';

const ACCEPT = 'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const caller = (flags: '00' | '01') => ({ traceparent: `00-${TRACE}-b7ad6b7169203331-${flags}` });

async function scrape(managementUrl: string, accept: string) {
  const response = await fetch(`${managementUrl}/metrics`, { headers: { accept } });
  return { type: response.headers.get('content-type'), text: await response.text() };
}

describe('GET /metrics that asks for OpenMetrics', () => {
  it('has the trace of the last sampled request as an exemplar while tracing is on', async () => {
    await using collector = await Collector.start();
    await using service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const client = await Client.of(service);
    await client.get('/cookies/1', caller('01'));
    await client.get('/cookies/x', caller('00'));
    const { type, text } = await scrape(service.managementUrl, ACCEPT);
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

  it('has the exemplars of all workers', async () => {
    await using collector = await Collector.start();
    await using service = await ServiceProcess.start(temporaryFolder(), {
      WORKERS: '2',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    const client = await Client.of(service);
    await client.get('/cookies/1', caller('01'));
    const exemplars = async (): Promise<string[]> =>
      (await scrape(service.managementUrl, ACCEPT)).text.split('\n').filter((line) => line.includes(' # {'));
    const one = await exemplars();
    expect(one).toEqual([expect.stringContaining(`{trace_id="${TRACE}"}`)]);
    // The sums of ended workers keep their exemplars.
    service.child.kill('SIGHUP');
    await service.printed('The workers are replaced');
    expect(await exemplars()).toEqual(one);
    expect((await scrape(service.managementUrl, 'text/plain')).text).not.toContain(TRACE);
  });

  it('is plain text while tracing is off', async () => {
    await using service = await startService();
    await (await Client.of(service)).get('/cookies', caller('01'));
    const { type, text } = await scrape(service.managementUrl, ACCEPT);
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toContain('http_request_duration_seconds_bucket');
    expect(text).not.toContain(TRACE);
  });
});
