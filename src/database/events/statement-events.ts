import { channel } from 'node:diagnostics_channel';
import { SERVICE_NAME } from '../../config/service-name.js';

/** One statement that ran: whether it read or wrote, and for how many seconds. */
export interface StatementEvent {
  readonly kind: 'read' | 'write';
  readonly seconds: number;
}

/** Takes the same without an object for each statement. */
export type StatementObserver = (kind: StatementEvent['kind'], seconds: number) => void;

/** Where the engines publish a `StatementEvent`, for whoever looks into a running process. */
export const statementEvents = channel(`${SERVICE_NAME}:database:statement`);

const observers: StatementObserver[] = [];

/** Adds an observer of every statement; the metrics add theirs, so that the data layer does not import them. */
export function observeStatements(observer: StatementObserver): void {
  observers.push(observer);
}

export function unobserveStatements(observer: StatementObserver): void {
  const index = observers.indexOf(observer);
  if (index >= 0) observers.splice(index, 1);
}

/** To be called by the engines after each statement, whether it succeeded or not. */
export function publishStatement(kind: StatementEvent['kind'], seconds: number): void {
  for (const observe of observers) observe(kind, seconds);
  if (statementEvents.hasSubscribers) statementEvents.publish({ kind, seconds } satisfies StatementEvent);
}
