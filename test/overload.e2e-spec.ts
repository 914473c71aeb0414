import { Site } from './faults/fault.js';
import { requestUntil } from './clients.js';
import { engineInUse } from './engine.js';

describe('600 clients', () => {
  it('do not make GET /health/ready anything but 200', async () => {
    await Site.use(async (site) => {
      const service = await site.start();
      const probes: { status: number; milliseconds: number }[] = [];
      const signal = AbortSignal.timeout(8000);
      const probe = async (): Promise<void> => {
        while (!signal.aborted) {
          const began = performance.now();
          const { status } = await fetch(`${service.managementUrl}/health/ready`);
          probes.push({ status, milliseconds: performance.now() - began });
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      };
      const [statuses] = await Promise.all([requestUntil(signal, service, 600), probe()]);
      const slowest = Math.max(...probes.map(({ milliseconds }) => milliseconds));
      const failed = probes.filter(({ status }) => status !== 200).length;
      console.info(engineInUse(), Object.fromEntries(statuses), { probes: probes.length, failed, slowest });
      expect(probes.length).toBeGreaterThan(3);
      expect(failed).toBe(0);
    });
  }, 60_000);
});
