import { readFileSync } from 'node:fs';
import { until } from '../until.js';
import { preloaded } from '../faults/preloaded.js';
import { HttpClient, jsonFields } from '../http-client.js';
import { metricsOf } from '../metrics.js';
import { COOKIE, token, type Endpoint } from '../service.js';
import type { ServiceProcess } from '../service-process.js';

/** A program that sends the id of the responding process in the header field `x-worker`. */
export const NAMES_ITSELF = `
  import { ServerResponse } from 'node:http';
  const { writeHead } = ServerResponse.prototype;
  ServerResponse.prototype.writeHead = function (...args) {
    this.setHeader('x-worker', process.pid);
    return writeHead.apply(this, args);
  };`;

/** A program that runs in workers whose number is above `number`, that is, in later ones. */
export const inWorkers = (program: string, number = 0): string =>
  `import cluster from 'node:cluster'; if (cluster.isWorker && cluster.worker.id > ${number}) { ${program} }`;

/** Runs a program before the service in workers whose number is above `number`. */
export const inWorkersAbove = (number: number, program: string) => preloaded(inWorkers(program, number));

/** The ids of the processes that the service has started. */
export function workersOf({ child }: ServiceProcess): number[] {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

/** Waits until this many workers serve and the process `gone` is not among them. */
export async function untilServing(service: ServiceProcess, count: number, gone?: number): Promise<void> {
  await until(async () => {
    const serving = (await metricsOf(service)).get('workers_serving');
    const workers = workersOf(service);
    // The metric counts an ended worker until its primary notices the end.
    return serving === count && workers.length === count && (gone === undefined || !workers.includes(gone));
  }, `${count} workers serve`);
}

/** Sends one request on a new connection, so that the next worker gets it. */
export async function sendAlone(
  { url }: Endpoint,
  { method = 'GET', path = '/cookies' } = {},
): Promise<{ readonly status: number; readonly worker: number }> {
  using client = new HttpClient(url);
  const body = method === 'POST' ? JSON.stringify(COOKIE) : undefined;
  const { status, headers } = await client.send(method, path, jsonFields(await token(), body !== undefined), body);
  return { status, worker: Number(headers.get('x-worker')) };
}
