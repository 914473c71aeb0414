import type { Log } from '../../logging/logger.js';
import { timestamp } from '../../logging/timestamp.js';
import type { RequestEnd, RequestListener, RequestRecord } from '../connections/request-record.js';

/** What a line says beside `request` when the request did not end with a response that was sent whole. */
const MESSAGES = { sent: 'request', 'cut off': 'request cut off', dropped: 'request dropped' } as const;

/** pino's number for `info`. */
const INFO = 30;

/** What stands in JSON as it is. Ids and methods are of this kind; see `request-id.ts` and Node's parser. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Logs one line for each request when it ends. Tokens and bodies are never logged. The line is put together here where no text
 * needs escaping, byte for byte as pino makes it, and by pino else; see docs/adr/0104-request-lines-by-concatenation.md.
 */
export function logRequests({ logger, destination }: Log): RequestListener {
  return (record, end) => {
    if (!logger.isLevelEnabled('info')) return;
    if (isPlain(record)) destination.write(lineOf(record, end), INFO);
    else logger.info(record, MESSAGES[end]);
  };
}

function isPlain({ route, subject, address }: RequestRecord): boolean {
  return PLAIN.test(route) && (subject === undefined || PLAIN.test(subject)) && PLAIN.test(address ?? '');
}

function lineOf(record: RequestRecord, end: RequestEnd): string {
  const { requestId, method, route, status, milliseconds, subject, address } = record;
  const statusField = status === undefined ? '' : `,"status":${status}`;
  const subjectField = subject === undefined ? '' : `,"subject":"${subject}"`;
  const addressField = address === undefined ? '' : `,"address":"${address}"`;
  return (
    `{"level":"info"${timestamp()},"requestId":"${requestId}","method":"${method}","route":"${route}"${statusField}` +
    `,"milliseconds":${milliseconds}${subjectField}${addressField},"msg":"${MESSAGES[end]}"}\n`
  );
}
