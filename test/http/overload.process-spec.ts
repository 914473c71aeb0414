import { DataSource } from 'typeorm';
import { MOST_WAITING } from '../../src/database/wait-queue.js';
import { Site } from '../faults/fault.js';
import { requestUntil } from '../support/load/request-until.js';
import { startService } from '../support/service.js';

describe('600 clients', () => {
  it('leave GET /health/ready 200', async () => {
    await Site.use(async (site) => {
      const service = await site.start();
      const probes: number[] = [];
      const signal = AbortSignal.timeout(3000);
      const probe = async (): Promise<void> => {
        while (!signal.aborted) {
          probes.push((await fetch(`${service.managementUrl}/health/ready`)).status);
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      await Promise.all([requestUntil(signal, service, 600), probe()]);
      expect(new Set(probes)).toEqual(new Set([200]));
    });
  });
});

describe('a transaction that all requests wait for', () => {
  it(`is waited for by ${MOST_WAITING}; the next one is rejected immediately`, async () => {
    await using service = await startService({
      DATABASE_POOL_SIZE: '1',
      DATABASE_BUSY_TIMEOUT: '120000',
      DATABASE_TRANSACTION_TIMEOUT: '120000',
    });
    const source = service.app.get(DataSource);
    const holder = source.createQueryRunner();
    await holder.startTransaction();
    const write = () => source.query(`UPDATE storage SET used = used WHERE resource = 'none'`);
    const waiting = Array.from({ length: MOST_WAITING }, () => write().then(() => 'done'));
    const began = performance.now();
    await expect(write()).rejects.toThrow('Overloaded');
    expect(performance.now() - began).toBeLessThan(10_000);
    await holder.rollbackTransaction();
    await holder.release();
    expect((await Promise.all(waiting)).every((outcome) => outcome === 'done')).toBe(true);
  }, 180_000);
});
