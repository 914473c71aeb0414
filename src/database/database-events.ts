import { channel } from 'node:diagnostics_channel';
import { Logger } from '@nestjs/common';
import { SERVICE_NAME } from '../config/service-name.js';

/** A statement that has ended, with or without success. */
export interface StatementEvent {
  readonly kind: 'read' | 'write';
  readonly milliseconds: number;
  /** As in the attribute `db.system.name` of OpenTelemetry. */
  readonly system: 'sqlite' | 'postgresql';
  /** The statement without its parameters. */
  readonly sql: string;
  readonly error?: unknown;
}

/** Channel of each `StatementEvent`. Metrics and traces subscribe, so the data layer imports neither. */
export const statements = channel(`${SERVICE_NAME}:database:statement`);

/** A batch that is sent: one statement or transaction. */
export interface BatchEvent {
  readonly kind: 'read' | 'write';
  readonly size: number;
  /** Milliseconds that the first item waited. */
  readonly waitMilliseconds: number;
}

export const batches = channel(`${SERVICE_NAME}:database:batch`);

/** Statements that take longer than this many milliseconds are logged. */
const SLOW_STATEMENT = 200;

/** Maximum characters of a statement in a log line or a span; an INSERT of many records repeats itself. */
export const LONGEST_TEXT = 1000;

/** Logs a slow statement without its parameters, which may be personal or secret. */
export function publishStatement(event: StatementEvent): void {
  statements.publish(event);
  const { sql, milliseconds } = event;
  if (milliseconds <= SLOW_STATEMENT) return;
  new Logger('Database').warn(`A statement took ${Math.round(milliseconds)} ms: ${sql.slice(0, LONGEST_TEXT)}`);
}

/** Errors that concern the whole database. Failed statements and waits for locks do not count. */
export const ENGINE_ERRORS = ['corrupt', 'io', 'full', 'unreachable'] as const;

export type EngineError = (typeof ENGINE_ERRORS)[number];

/** The engines publish each `EngineError` here, for the metrics. */
export const engineErrors = channel(`${SERVICE_NAME}:database:error`);
