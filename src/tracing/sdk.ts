import { randomUUID } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { SERVICE_NAME } from '../config/service-name.js';
import { serviceVersion } from '../config/service-version.js';
import { Outage } from '../logging/outage.js';
import { useTracing } from './spans.js';

/** Milliseconds that the last spans may take to be sent when the service stops. */
const FLUSH_TIMEOUT = 2000;
/** Milliseconds between two log lines about a collector that does not take spans. */
const FAILURE_INTERVAL = 60_000;

export type RunningTracing = ReturnType<typeof startTracing>;

/**
 * Starts the SDK of OpenTelemetry for this process. `@opentelemetry/api` of every module uses it from then on. Spans
 * wait in a bounded queue. If the collector does not take them, they are dropped, and the log says so. The SDK reads
 * the other `OTEL_` variables: headers, sampler, limits.
 * @param endpoint address of the collector, without `/v1/traces`
 */
export function startTracing(endpoint: URL) {
  const failures = reportFailures(endpoint);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.href.replace(/\/$/, '')}/v1/traces` });
  const spanProcessors = [new BatchSpanProcessor(exporter)];
  const provider = new BasicTracerProvider({ resource: resource(), spanProcessors });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  api.trace.setGlobalTracerProvider(provider);
  subscribe(FETCH, addTraceparent);
  const tracing = { api, tracer: provider.getTracer(SERVICE_NAME, serviceVersion()) };
  useTracing(tracing);
  const stop = async (): Promise<void> => {
    useTracing(undefined);
    unsubscribe(FETCH, addTraceparent);
    const sent = provider.shutdown().catch((error: unknown) => failures.report(messageOf(error)));
    const late = sleep(FLUSH_TIMEOUT, undefined, { ref: false });
    await Promise.race([sent, late.then(() => failures.report(`Spans were not sent within ${FLUSH_TIMEOUT} ms`))]);
    failures.close();
    for (const part of [api.diag, api.trace, api.propagation, api.context]) part.disable();
  };
  return { ...tracing, stop };
}

/** Names this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` have priority. */
function resource() {
  const own = resourceFromAttributes({
    'service.name': SERVICE_NAME,
    'service.version': serviceVersion(),
    'service.instance.id': randomUUID(),
  });
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [envDetector] }));
}

/** The channel on which `fetch` of Node publishes each request (undici's documentation of its DiagnosticsChannel). */
const FETCH = 'undici:request:create';

/** Adds `traceparent` to a request that `fetch` sends inside a span. */
function addTraceparent(message: unknown): void {
  const { request } = message as { request: { addHeader(name: string, value: string): void } };
  api.propagation.inject(api.context.active(), request, {
    set: (carrier, name, value) => void carrier.addHeader(name, value),
  });
}

/** Logs problems with the collector: the first with its reason, further problems as a count each minute. */
function reportFailures({ origin }: URL): Outage {
  const logger = new Logger('Tracing');
  const problem = `Problem with the traces for ${origin}`;
  const failures = new Outage({
    interval: FAILURE_INTERVAL,
    // Logs without a span: the active span may be that of any request in the batch.
    onStart: (reason) => api.context.with(api.ROOT_CONTEXT, () => logger.warn(`${problem}: ${reason}`)),
    onRepeat: (repeats) => logger.warn(`${problem}: ${repeats} more failures in ${FAILURE_INTERVAL / 1000} s`),
  });
  setGlobalErrorHandler((error) => failures.report(messageOf(error)));
  const ignore = (): void => undefined;
  const report = (...parts: unknown[]): void =>
    failures.report(parts.filter((part) => typeof part === 'string').join(': '));
  const diagnostics = { error: report, warn: report, info: ignore, debug: ignore, verbose: ignore };
  api.diag.setLogger(diagnostics, { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true });
  return failures;
}

function messageOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message : inspect(error, { depth: 0 });
}
