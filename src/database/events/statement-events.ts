export type StatementKind = 'read' | 'write';

/** Called with each statement that ran, whether it succeeded or not, and for how many seconds. */
export type StatementObserver = (kind: StatementKind, seconds: number) => void;

const observers: StatementObserver[] = [];

/** Adds an observer of every statement; the metrics add theirs, so that the data layer does not import them. */
export function observeStatements(observer: StatementObserver): void {
  observers.push(observer);
}

export function unobserveStatements(observer: StatementObserver): void {
  const index = observers.indexOf(observer);
  if (index >= 0) observers.splice(index, 1);
}

/** To be called by the engines after each statement. It makes no object: every request passes here. */
export const publishStatement: StatementObserver = (kind, seconds) => {
  for (const observe of observers) observe(kind, seconds);
};
