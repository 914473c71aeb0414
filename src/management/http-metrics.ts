import { Counter, Histogram, type Registry } from 'prom-client';
import type { Connections } from '../http/connections/connections.js';
import { sampledTrace } from '../http/messages/request-spans.js';
import { addGauge } from './add-gauge.js';

/** Buckets in seconds, from a cached response to a long list. */
const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @param isTraced whether the durations have the trace of a request as exemplar */
export function measureConnections(registry: Registry, connections: Connections, isTraced: boolean): void {
  const { requests } = connections;
  const durations: Histogram = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request until its response is sent or its connection closes; status "none" without a response',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_BUCKETS,
    enableExemplars: isTraced,
    // prom-client would reject exemplars for a registry of plain text; `openMetrics` exposes them.
    registers: [],
  });
  registry.registerMetric(durations);
  requests.onEnd(({ method, route, status = 'none', milliseconds }, _end, request) => {
    const labels = { method, route, status };
    const value = milliseconds / 1000;
    if (isTraced) durations.observe({ labels, value, exemplarLabels: sampledTrace(request) });
    else durations.observe(labels, value);
  });
  addGauge(registry, 'http_requests_in_flight', 'Requests in flight', () => requests.inFlight);
  addGauge(registry, 'http_connections_open', 'Open connections of clients', () => connections.open);
  const buffered = 'Memory for unread responses and for requests that wait behind them';
  addGauge(registry, 'http_response_buffer_bytes', buffered, () => requests.bufferedBytes);
  const limit = 'Limit of http_response_buffer_bytes (RESPONSE_BUFFER_BYTES)';
  addGauge(registry, 'http_response_buffer_limit_bytes', limit, () => requests.bufferLimit);
  const { certificate } = connections;
  if (certificate !== undefined) {
    const expiry = 'End of the validity of the certificate of the API port';
    const seconds = (): number => Math.floor(certificate.current.expires.getTime() / 1000);
    addGauge(registry, 'tls_certificate_expiry_timestamp_seconds', expiry, seconds, { aggregator: 'min' });
  }
  new Counter({
    name: 'http_connections_cut_total',
    help: 'Connections that the service has closed, by reason: stalled, overload, too many connections',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of connections.cuts) this.inc({ reason }, count);
    },
  });
}
