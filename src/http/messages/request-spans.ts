import type { IncomingMessage } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';
import { traceIds, type Tracing } from '../../tracing/spans.js';
import type { Connections } from '../connections/connections.js';

/** The methods that a span names; others are `_OTHER`, so that a client cannot add names without limit. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

const spans = new WeakMap<IncomingMessage, Span>();

/**
 * Makes a span for each request that Fastify routes, below that of a valid `traceparent`, by OpenTelemetry's
 * conventions for HTTP, without queries and header fields, which may be personal or secret.
 */
export function traceRequests(fastify: FastifyInstance, { requests }: Connections, { api, tracer }: Tracing): void {
  const { context, propagation, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api;
  fastify.addHook('onRequest', (request, _reply, done) => {
    // The active context may belong to another request of the connection.
    const caller = propagation.extract(ROOT_CONTEXT, request.headers);
    const isKnown = METHODS.has(request.method);
    const route = request.is404 ? undefined : request.routeOptions.url;
    const attributes = {
      'http.request.method': isKnown ? request.method : '_OTHER',
      ...(route !== undefined && { 'http.route': route }),
      'url.path': request.url.split('?', 1)[0],
      'url.scheme': request.protocol,
    };
    const name = [isKnown ? request.method : 'HTTP', route].filter(Boolean).join(' ');
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, caller);
    spans.set(request.raw, span);
    context.with(trace.setSpan(caller, span), done);
  });
  requests.onEnd(({ status, address, requestId }, end, request) => {
    const span = request && spans.get(request);
    if (span === undefined) return;
    const failure = status === undefined ? end : status >= 500 ? String(status) : undefined;
    span.setAttributes({
      'http.response.status_code': status,
      'client.address': address,
      'http.response.header.x-request-id': [requestId],
      'error.type': failure,
    });
    if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

/** The trace of a request for exemplars of metrics; without ids if the request is not sampled. */
export function sampledTrace(request?: IncomingMessage): { trace_id?: string } {
  const { traceId, traceFlags = 0 } = (request && spans.get(request)?.spanContext()) ?? {};
  // The flag "sampled" of W3C Trace Context, section 3.2.2.5.1.
  return traceFlags & 1 ? { trace_id: traceId } : {};
}

/** Adds the ids of the request's span. Without a span it removes ids that may belong to another request. */
export function withTraceIds(record: object, request?: IncomingMessage): object {
  const span = request && spans.get(request);
  return { ...record, ...(span === undefined ? { trace_id: undefined, span_id: undefined } : traceIds(span)) };
}
