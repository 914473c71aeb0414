import type { ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import { ServiceProcess } from '../support/service-process.js';
import { Client, COOKIE, startService, temporaryFolder } from '../support/service.js';
import { Collector } from './collector.js';

const FAULTS: [circumstance: string, respond: (response: ServerResponse) => void, reason: RegExp][] = [
  ['responds 500', (response) => void response.writeHead(500).end('secret'), /: Internal Server Error$/],
  ['sends nonsense', (response) => void response.end('<nonsense'), /: Failed to parse trace export response/],
];

describe('a service with traces', () => {
  it.each(FAULTS)('serves beside a collector that %s, with one warning', async (_circumstance, respond, reason) => {
    await using collector = await Collector.start(respond);
    const service = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_LEVEL: 'silent' });
    const warnings: string[] = [];
    const ignore = (): void => undefined;
    // A slow disk also causes warnings, about statements.
    const warn = (text: string): void => {
      if (!text.startsWith('A statement took')) warnings.push(text);
    };
    Logger.overrideLogger({ log: ignore, error: ignore, warn });
    const client = await Client.of(service);
    // More spans end than fit into one export (512).
    const writers = Array.from({ length: 64 }, async () => {
      for (let write = 0; write < 3; write++) expect((await client.post(COOKIE)).status).toBe(201);
    });
    await Promise.all(writers).finally(() => service.stop());
    Logger.overrideLogger(false);
    expect(collector.requests.length).toBeGreaterThan(1);
    expect(warnings).toEqual([expect.stringMatching(reason)]);
    expect(warnings[0]).toContain(`Problem with the traces for ${collector.url}: `);
  });

  it.each(['never responds', 'is down'])('stops in time beside a collector that %s', async (circumstance) => {
    await using collector = await Collector.start(() => undefined);
    const endpoint = circumstance === 'is down' ? 'http://127.0.0.1:9' : collector.url;
    await using service = await ServiceProcess.start(temporaryFolder(), { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    expect((await (await Client.of(service)).post(COOKIE)).status).toBe(201);
    const began = performance.now();
    expect(await service.end('SIGTERM')).toBe(0);
    // The SDK itself would retry for 10 s.
    expect(performance.now() - began).toBeLessThan(7000);
    await service.outputEnd();
    expect(service.lines.filter(({ level }) => level !== 'info')).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/: Spans were not sent within 2000 ms$/) },
    ]);
  });
});
