import type { Logger } from 'pino';
import type { RequestListener } from '../connections/request-record.js';

/** What a line says beside `request` when the request did not end with a response that was sent whole. */
const MESSAGES = { sent: 'request', 'cut off': 'request cut off', dropped: 'request dropped' } as const;

/** Logs one line for each request when it ends. Tokens and bodies are never logged. */
export function logRequests(logger: Logger): RequestListener {
  return (record, end) => logger.info(record, MESSAGES[end]);
}
