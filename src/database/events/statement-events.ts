import { channel } from 'node:diagnostics_channel';
import { SERVICE_NAME } from '../../config/service-name.js';

/** One statement that ran: whether it read or wrote, and for how many seconds. */
export interface StatementEvent {
  readonly kind: 'read' | 'write';
  readonly seconds: number;
}

/** Where the engines publish a `StatementEvent`; the metrics subscribe, so that the data layer does not import them. */
export const statementEvents = channel(`${SERVICE_NAME}:database:statement`);
