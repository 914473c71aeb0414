import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectError } from '../support/expect-error.js';
import { Client, type Service, startService, temporaryFolder } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

const TOKEN = 'c29tZSByYW5kb20gYnl0ZXM=';

/** The status of a request without a token, and with the right one. */
async function statuses(managementUrl: string, path: string): Promise<number[]> {
  const both: Record<string, string>[] = [{}, { authorization: `Bearer ${TOKEN}` }];
  const requests = both.map((headers) => fetch(managementUrl + path, { headers }));
  return (await Promise.all(requests)).map(({ status }) => status);
}

describe('the management port with METRICS_TOKEN', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({ METRICS_TOKEN: TOKEN });
  });

  afterAll(() => service.stop());

  it('GET /metrics returns 200 with the token, and 401 without it or with another one', async () => {
    expect(await statuses(service.managementUrl, '/metrics')).toEqual([401, 200]);
    for (const given of ['', TOKEN.slice(0, -1), `${TOKEN}=`, TOKEN.toLowerCase()]) {
      const response = await Client.bearing({ url: service.managementUrl }, given).get('/metrics');
      expectError(response, 401, 'UNAUTHENTICATED');
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="metrics"');
      expect(response.text).not.toContain(TOKEN);
    }
  });

  it('GET /metrics returns 200 with the scheme in any case (RFC 9110 section 11.1)', async () => {
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${TOKEN}` };
      expect((await fetch(`${service.managementUrl}/metrics`, { headers })).status).toBe(200);
    }
  });

  it('GET of health returns 200 without the token', async () => {
    for (const path of ['/health/live', '/health/ready']) {
      expect(await statuses(service.managementUrl, path)).toEqual([200, 200]);
    }
  });
});

describe('two workers with MANAGEMENT_HOST and METRICS_TOKEN_FILE', () => {
  it('serve health and metrics at that address only, metrics with the token only', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'metrics-token');
    writeFileSync(file, `${TOKEN}\n`);
    const environment = { WORKERS: '2', MANAGEMENT_HOST: '127.0.0.2', METRICS_TOKEN_FILE: file };
    await using service = await ServiceProcess.start(folder, environment);
    const { hostname, port } = new URL(service.managementUrl);
    expect(hostname).toBe('127.0.0.2');
    expect(new URL(service.url).hostname).toBe('127.0.0.1');
    expect(await statuses(service.managementUrl, '/metrics')).toEqual([401, 200]);
    expect(await statuses(service.managementUrl, '/health/ready')).toEqual([200, 200]);
    await expect(fetch(`http://127.0.0.1:${port}/health/ready`)).rejects.toThrow('fetch failed');
  });
});
