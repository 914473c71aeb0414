import { errorType, type Tracing } from '../tracing/spans.js';
import { LONGEST_TEXT, type StatementEvent, statements } from './database-events.js';

/** Makes a span for each statement inside a span (OpenTelemetry's conventions for SQL). Returns a function to stop. */
export function traceStatements({ api, tracer }: Tracing): () => void {
  const onStatement = (message: unknown): void => {
    if (api.trace.getActiveSpan()?.isRecording() !== true) return;
    const { sql, system, milliseconds, error } = message as StatementEvent;
    const operation = /\bCOMMIT\s*$/i.test(sql) ? 'COMMIT' : (/[a-z]+/i.exec(sql)?.[0].toUpperCase() ?? 'SQL');
    const text = textOf(sql);
    const table = /\b(?:FROM|INTO|UPDATE)\s+["`]?(\w+)/i.exec(text ?? '')?.[1];
    const name = table === undefined ? operation : `${operation} ${table}`;
    const now = performance.now();
    const attributes = { 'db.system.name': system, 'db.operation.name': operation, 'db.query.text': text };
    const span = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, startTime: now - milliseconds, attributes });
    if (error !== undefined) {
      span.setAttribute('error.type', errorType(error));
      span.setStatus({ code: api.SpanStatusCode.ERROR });
    }
    span.end(now);
  };
  statements.subscribe(onStatement);
  return () => void statements.unsubscribe(onStatement);
}

/** Matches quoted names, strings and numbers. The group captures a name, because names are kept. */
const LITERALS = /("[^"]*")|(?:'[^']*')+|(?<![\w$.])\d[\w.]*/g;

/** The text without literals, which may be values of clients; `undefined` if finding all literals is not certain. */
function textOf(sql: string): string | undefined {
  if (/\\|\$\w*\$|\/\*|--/.test(sql)) return undefined;
  const text = sql.replace(LITERALS, (_literal, name?: string) => name ?? '?');
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST_TEXT);
}
