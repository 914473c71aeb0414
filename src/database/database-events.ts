import { channel } from 'node:diagnostics_channel';
import { SERVICE_NAME } from '../config/service-name.js';

export type StatementKind = 'read' | 'write';

/** Called after each statement, successful or not, with its duration in seconds. */
export type StatementObserver = (kind: StatementKind, seconds: number) => void;

const observers: StatementObserver[] = [];

/** Adds an observer of all statements. The metrics add theirs, so that the data layer does not import them. */
export function observeStatements(observer: StatementObserver): void {
  observers.push(observer);
}

export function unobserveStatements(observer: StatementObserver): void {
  const index = observers.indexOf(observer);
  if (index >= 0) observers.splice(index, 1);
}

/** Called by the engines after each statement. It creates no object, because every request passes here. */
export const publishStatement: StatementObserver = (kind, seconds) => {
  for (const observe of observers) observe(kind, seconds);
};

/**
 * Errors that concern the whole database: a damaged file or page, an I/O error, a full volume, a database that cannot
 * be reached or opened. Failed statements and waits for locks do not count.
 */
export const ENGINE_ERRORS = ['corrupt', 'io', 'full', 'unreachable'] as const;

export type EngineError = (typeof ENGINE_ERRORS)[number];

/** The engines publish each `EngineError` here. The metrics subscribe, so that the data layer does not import them. */
export const engineErrors = channel(`${SERVICE_NAME}:database:error`);
