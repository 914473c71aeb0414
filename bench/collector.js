import { once } from 'node:events';
import { createServer } from 'node:http';
import { compare } from './compare.js';

/** The address to which programs under test send their spans: the port of OTLP over HTTP. */
export const COLLECTOR = 'http://127.0.0.1:4318';

/** Compares the lanes of a scenario while a collector receives the spans and drops them. */
export async function compareTraced(scenario, ...args) {
  const collector = createServer((request, response) => request.resume().once('end', () => response.end('{}')));
  const { hostname, port } = new URL(COLLECTOR);
  await once(collector.listen(port, hostname), 'listening');
  try {
    return await compare(scenario, ...args);
  } finally {
    collector.close();
    collector.closeAllConnections();
  }
}
