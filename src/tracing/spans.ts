import type { Span, Tracer } from '@opentelemetry/api';

/** OpenTelemetry's API and the tracer of the service. The packages are loaded only if tracing is on. */
export interface Tracing {
  readonly api: typeof import('@opentelemetry/api');
  readonly tracer: Tracer;
}

let tracing: Tracing | undefined;

/** Turns the functions of this file on, or off with `undefined`. */
export function useTracing(value: Tracing | undefined): void {
  tracing = value;
}

/** Runs `work` in a span below the active span. If there is none, or it is not recorded, `work` runs without a span. */
export function inSpan<T>(name: string, work: (span?: Span) => Promise<T>): Promise<T> {
  if (tracing?.api.trace.getActiveSpan()?.isRecording() !== true) return work();
  const { api, tracer } = tracing;
  return tracer.startActiveSpan(name, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.setAttribute('error.type', errorType(error));
      span.setStatus({ code: api.SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Binds a function to the active span, because a queue may call it in the context of another request. */
export function inSameSpan<Work extends (...parameters: never[]) => unknown>(work: Work): Work {
  if (tracing === undefined) return work;
  const { context } = tracing.api;
  return context.bind(context.active(), work);
}

/** The ids of a span for lines of the log; by default those of the active span. */
export function traceIds(span = tracing?.api.trace.getActiveSpan()): { trace_id?: string; span_id?: string } {
  const { traceId, spanId } = span?.spanContext() ?? {};
  return { trace_id: traceId, span_id: spanId };
}

/** The code of an error of a database or of Node, otherwise its class. Messages may have values of clients. */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER';
}
