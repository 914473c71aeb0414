import { until } from './until.js';

interface Managed {
  readonly managementUrl: string;
}

/** The values of `/metrics` by series with labels, such as `nodejs_version_info{...}`. */
export async function metricsOf({ managementUrl }: Managed): Promise<Map<string, number>> {
  const response = await fetch(`${managementUrl}/metrics`);
  if (response.status !== 200) throw new Error(`GET /metrics is ${response.status}: ${await response.text()}`);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** The growth of each series while `work` ran; unchanged series are left out. */
export async function growthDuring(service: Managed, work: () => Promise<unknown>): Promise<Map<string, number>> {
  const before = await metricsOf(service);
  await work();
  const after = await metricsOf(service);
  const growth = [...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)] as const);
  return new Map(growth.filter(([, value]) => value !== 0));
}

/** Waits until a series has a value. Some are counted after the client has its response. */
export async function untilMetric(service: Managed, name: string, value: number): Promise<void> {
  let seen: number | undefined;
  await until(
    async () => (seen = (await metricsOf(service)).get(name)) === value,
    () => `${name} is ${seen}, not ${value}`,
  );
}
