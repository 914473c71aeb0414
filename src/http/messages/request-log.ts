import type { Logger } from 'pino';
import type { RequestListener } from '../connections/request-record.js';

/** The message of the line, by how the request ended. */
const MESSAGES = { sent: 'request', 'cut off': 'request cut off', dropped: 'request dropped' } as const;

/** Logs one line for each request when it ends. Tokens and bodies are never logged. */
export function logRequests(logger: Logger): RequestListener {
  return (record, end) => logger.info(record, MESSAGES[end]);
}
