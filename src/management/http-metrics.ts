import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Connections } from '../http/connections/connections.js';

// Seconds, from a cached response to a long list.
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Metrics of the requests and connections of a server. */
export function measureConnections(registry: Registry, connections: Connections): void {
  measureRequests(registry, connections);
  gauge(registry, 'http_requests_in_flight', 'Requests in flight now', () => connections.requests.inFlight);
  gauge(registry, 'http_connections_open', 'Connections that clients have open now', () => connections.open);
  gauge(
    registry,
    'http_response_buffer_bytes',
    'Memory for responses that clients have not read yet, and for requests that wait behind them',
    () => connections.budget.bytes,
  );
  gauge(
    registry,
    'http_response_buffer_limit_bytes',
    'What http_response_buffer_bytes may be (RESPONSE_BUFFER_BYTES)',
    () => connections.budget.limit,
  );
  new Counter({
    name: 'http_connections_cut_total',
    help: 'Connections that the service has closed on clients, by reason: stalled, overload, too many connections',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of connections.cuts) this.inc({ reason }, count);
    },
  });
}

function measureRequests(registry: Registry, connections: Connections): void {
  const requests = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request until its response is sent or its connection closes; status "none" when there was no response',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
    registers: [registry],
  });
  connections.requests.onEnd(({ method, route, status = 'none', milliseconds }) => {
    requests.observe({ method, route, status }, milliseconds / 1000);
  });
}

function gauge(registry: Registry, name: string, help: string, value: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(value());
    },
  });
}
