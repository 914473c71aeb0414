import { channel } from 'node:diagnostics_channel';

/** One statement that ran: whether it read or wrote, and for how many seconds. */
export interface StatementTiming {
  readonly kind: 'read' | 'write';
  readonly seconds: number;
}

/** Where the engines publish a `StatementTiming`; whoever measures subscribes, so that the data layer knows no metrics. */
export const statementTimings = channel('cookies:database:statement');
