import type { Change } from './change-log.js';
import type { HttpResponse } from '../support/http-response.js';
import type { LogBook, RequestLine } from './log-book.js';
import type { Script } from './script.js';

/** A script and its responses. */
export interface Played {
  readonly script: Script;
  readonly responses: readonly HttpResponse[];
}

export interface EffectViolation {
  readonly violation: string;
  /** The script that shows the violation; absent if only the sums show it. */
  readonly script?: Script;
}

const idOf = ({ headers }: HttpResponse): string => headers.get('x-request-id') ?? '';

const wishId = ({ wish }: Change): string | undefined => /^of ([0-9a-z.]+)/.exec(wish)?.[1];

/** Tells whether the whole response was sent. */
const isWhole = ({ msg }: RequestLine): boolean => msg === 'request';

/**
 * Compares changes of records, the log and the responses: a change has exactly one request line, a response has exactly
 * one, and a client that waited for the response to its change got it.
 */
export function effectViolation(
  played: readonly Played[],
  changes: readonly Change[],
  log: LogBook,
): EffectViolation | undefined {
  for (const one of played) {
    const violation = lineViolation(one, log);
    if (violation !== undefined) return { violation, script: one.script };
  }
  return changeViolation(played, changes, log) ?? sumViolation(changes, log);
}

/**
 * Each response with the id of a request has one line. A request that was cut off by the end of the connection may have
 * one.
 */
function lineViolation({ script, responses }: Played, log: LogBook): string | undefined {
  for (const { id, expected } of script.messages) {
    const lines = log.of(id);
    const own = responses.filter((response) => idOf(response) === id);
    const whole = script.end === 'reset' ? lines.length : lines.filter(isWhole).length;
    const most = script.end === 'reset' ? Math.max(1, own.length) : own.length;
    // A mutation may have split a message into several requests.
    const isTooMany = expected !== undefined && (whole > most || lines.length > 1);
    if (lines.length < own.length || isTooMany) {
      const statuses = own.map(({ status }) => status).join(', ');
      return `${id} has other request lines than responses (${statuses}): ${JSON.stringify(lines)}`;
    }
    if (own.length === 1 && lines.length === 1 && lines[0]!.status !== own[0]!.status) {
      return `${id} was answered with ${own[0]!.status}, but its line says ${lines[0]!.status}`;
    }
  }
  return undefined;
}

function changeViolation(
  played: readonly Played[],
  changes: readonly Change[],
  log: LogBook,
): EffectViolation | undefined {
  const scripts = new Map<string, Script>();
  const exact = new Set<string>();
  const created = new Set<number>();
  for (const { script, responses } of played) {
    let isExact = true;
    for (const { id, expected } of script.messages) {
      scripts.set(id, script);
      // After a mutated message the body of a request is uncertain.
      isExact &&= expected !== undefined;
      if (isExact) exact.add(id);
    }
    for (const id of createdIds(responses)) created.add(id);
  }
  for (const change of changes.filter(({ operation }) => operation === 'insert')) {
    const id = wishId(change);
    const script = id === undefined ? undefined : scripts.get(id);
    if (script?.end !== 'reset' && !created.has(change.id)) {
      return { violation: `The record ${change.id} (${change.wish}) was stored, but no response said so`, script };
    }
    if (id === undefined || !exact.has(id)) continue;
    const lines = log.of(id).filter(({ method, status }) => method === 'POST' && status !== 507);
    if (lines.length !== 1) return { violation: `${id} stored a record and has ${lines.length} request lines`, script };
  }
  return undefined;
}

/** Ids of the records in 201 responses, which stay with the scripts for later checks of the database. */
export function createdIds(responses: readonly HttpResponse[]): number[] {
  const created = responses.filter(({ status }) => status === 201);
  return created.map(({ headers }) => Number(/^\/cookies\/(\d+)$/.exec(headers.get('location') ?? '')?.[1]));
}

/** Compares the number of changes with the lines that report one, also for mutated ids. */
function sumViolation(changes: readonly Change[], log: LogBook): EffectViolation | undefined {
  for (const [operation, method, success] of [
    ['insert', 'POST', 201],
    ['delete', 'DELETE', 204],
  ] as const) {
    const changed = changes.filter((change) => change.operation === operation).length;
    const said = log.counted((line) => line.method === method && line.status === success && isWhole(line));
    const cutOff = log.counted((line) => line.method === method && !isWhole(line));
    if (changed < said || changed > said + cutOff) {
      const violation = `${changed} records saw ${operation}, and ${said} request lines say so (${cutOff} were cut off)`;
      return { violation };
    }
  }
  return undefined;
}
