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
