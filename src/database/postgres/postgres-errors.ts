import { QueryFailedError, TypeORMError } from 'typeorm';
import { type EngineError, engineErrors } from '../database-events.js';
import {
  ConnectionLostError,
  DatabaseError,
  DatabaseStartError,
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
  rootCause,
  type UnavailableKind,
  UnsafeIntegerError,
} from '../errors.js';

/** The SQLSTATE (https://www.postgresql.org/docs/current/errcodes-appendix.html), or Node's code of a socket. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Tells whether 08P01 concerns one statement. PgBouncer sends the code as FATAL when it has lost the server. */
function isOfStatement(error: unknown): boolean {
  return codeOf(error) === '08P01' && (error as { severity?: unknown }).severity !== 'FATAL';
}

/** Errors after which the connection must not be used again: the session ended, or the server is the wrong one. */
const SESSION_OVER = /^(08...|57P0.|25006|25P05|2600.|42P05|E[A-Z_]+)$/;

/** Errors that another session or a limit causes. The connection stays usable. */
const TRANSIENT = /^(40003|55P03|57014|53...|58...)$/;

/** data_corrupted, index_corrupted and io_error: the files or the volume of the server are damaged. */
const DAMAGED = /^(XX001|XX002|58030)$/;

/** Messages of node-postgres without a code for a failed connection. */
const WITHOUT_CODE =
  /^(Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed|timeout e)/;

/** Tells whether the database undid the transaction because of another transaction, so that it may run again. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(codeOf(error));
}

/** Tells whether the connection is broken, timed out or leads to a read-only server. */
export function isConnectionFailure(error: unknown): boolean {
  const code = codeOf(error);
  if (isOfStatement(error)) return false;
  return code === '' ? WITHOUT_CODE.test((error as Error | undefined)?.message ?? '') : SESSION_OVER.test(code);
}

/** Tells whether the server ended a transaction that paused or lasted too long. It closes the connection, too. */
export function isTransactionTimeout(error: unknown): error is Error {
  return /^25P0[34]$/.test(codeOf(error));
}

/** The message for an error that `isTransactionTimeout` recognises. The service sets no transaction_timeout but 0. */
export function timeoutMessage(error: unknown): string {
  const hasPaused = codeOf(error) === '25P03';
  const reason = hasPaused ? 'paused for too long' : 'exceeded the transaction_timeout of its user or server';
  return `The transaction ${reason} and was rolled back`;
}

/** Tells whether the server did not respond in time. Another attempt would make the client wait as long again. */
export function isTimeout(error: unknown): boolean {
  return /^(Query read timeout|timeout e|Connection terminated due to connection timeout)/.test(
    (error as Error).message,
  );
}

/** Tells whether the server has no free slot for a connection, or accepts none now (class 53, 57P03). */
export function isServerFull(error: unknown): boolean {
  return /^(53...|57P03)$/.test(codeOf(error));
}

/** Errors after which a COMMIT may have been executed. Time-outs of the server and 25006 mean that it was not. */
const LOST_RESPONSE = /^(08...|57P0[12]|40003|E[A-Z_]+)$/;

/** The error for a change that may have been committed; `undefined` if the error proves that it was not. */
export function outcomeUnknown(error: unknown): OutcomeUnknownError | undefined {
  if (error instanceof OutcomeUnknownError) return error;
  const code = codeOf(error);
  const { message } = error as Error;
  // node-postgres has not sent a statement for which the connection is "not queryable".
  const isWithoutCode = code === '' && WITHOUT_CODE.test(message) && !message.includes('not queryable');
  const isLost = isWithoutCode || (LOST_RESPONSE.test(code) && !isOfStatement(error));
  return isLost
    ? new OutcomeUnknownError('The response to COMMIT was lost: the change may be stored or not', error)
    : undefined;
}

/** The server translates its messages (lc_messages), but not the names of its functions (aclchk.c, sequence.c). */
const DENYING_ROUTINES = ['aclcheck_error', 'nextval_internal', 'do_setval', 'pg_sequence_last_value'];

/** Tells whether the user lacks a right to a table or sequence. A row that a policy rejects has the same code. */
function isDenied(error: unknown): boolean {
  return codeOf(error) === '42501' && DENYING_ROUTINES.includes((error as { routine?: string }).routine ?? '');
}

/** Tells whether the server assigns no more ids to transactions before a VACUUM. A value may also have this code. */
function needsVacuum(error: unknown): boolean {
  const { routine = '' } = error as { routine?: string };
  return codeOf(error) === '54000' && /^GetNew(Transaction|MultiXact)Id$/.test(routine);
}

/** Tells whether the server is a standby, or has just lost its role as the primary. */
export function isReadOnlyServer(error: unknown): boolean {
  return codeOf(error) === '25006';
}

const READ_ONLY =
  'read-only: a standby (name the primary, or all servers, in DATABASE_URL), or default_transaction_read_only is on';

const OWN_ERRORS = [TypeORMError, DatabaseError, UnsafeIntegerError];

/** The service's error for a full, busy or stopped database, or TypeORM's for an error of the statement. */
export function explained(error: unknown, sql: string, parameters: unknown[]): Error {
  if (OWN_ERRORS.some((type) => error instanceof type)) return error as Error;
  const code = codeOf(error);
  const unavailable = (message: string, kind?: UnavailableKind): Error =>
    new DatabaseUnavailableError(message, error, kind);
  if (code === '53100') return new DiskFullError(error);
  if (isReadOnlyServer(error)) return unavailable(`The server is ${READ_ONLY}`, 'unreachable');
  if (isDenied(error))
    return unavailable(`The user of the service lacks a right (${(error as Error).message})`, 'unreachable');
  if (needsVacuum(error))
    return unavailable(`The server accepts no writes (${(error as Error).message})`, 'unreachable');
  if (isTimeout(error)) return unavailable('The database did not respond in time', 'unreachable');
  if (isConnectionFailure(error)) return new ConnectionLostError(error);
  if (isTransactionTimeout(error)) return unavailable(timeoutMessage(error));
  if (DAMAGED.test(code))
    return unavailable(`The database is damaged (${code}: ${(error as Error).message})`, 'damaged');
  if (isConflict(error))
    return unavailable(`The database undid the transaction, which conflicted with another (${code})`);
  if (TRANSIENT.test(code))
    return unavailable(`The database could not finish in time (${code}: ${(error as Error).message})`);
  return new QueryFailedError(sql, parameters, error as Error);
}

/** Publishes an error of the server for the metrics; ignores errors of statements, locks and time-outs. */
export function publishEngineError(error: unknown): void {
  const code = codeOf(error);
  if (code === '53100') engineErrors.publish('full' satisfies EngineError);
  else if (DAMAGED.test(code)) engineErrors.publish((code === '58030' ? 'io' : 'corrupt') satisfies EngineError);
  else if (isConnectionFailure(error)) engineErrors.publish('unreachable' satisfies EngineError);
}

/** Reasons and remedies by code and message; `%s` is the message. */
const REASONS: readonly [RegExp, string][] = [
  [/^(ENOTFOUND|EAI_AGAIN) /, 'its host name is not known; start its container, or correct the host in DATABASE_URL'],
  [/^ECONNREFUSED /, 'nothing listens there; start the server, or correct host and port in DATABASE_URL'],
  [/^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT) /, 'the host cannot be reached; correct it in DATABASE_URL, or the network'],
  [/^ENOENT /, 'there is no such socket; correct the folder in DATABASE_URL, or start the server'],
  // The name of the file is in the message in every language.
  [
    /^28000 .*pg_hba\.conf/,
    'its pg_hba.conf does not admit the connection (%s); add a line there, or ?sslmode=verify-full to DATABASE_URL',
  ],
  [
    /^28000 .*client certificate/,
    'it requires a certificate of the client, and the service has none (%s); leave out clientcert in its pg_hba.conf',
  ],
  [/^(28P01|28000) /, 'it rejects the user (%s); correct user and password in DATABASE_URL'],
  [/^3D000 /, 'it has no such database; create it with CREATE DATABASE, or correct the name in DATABASE_URL'],
  [/^42501 /, 'the user lacks a right (%s); make the user the owner of the database'],
  [/^25006 /, `it is ${READ_ONLY}`],
  [/^53300 /, 'it has no free connection (%s); raise that limit, or lower DATABASE_POOL_SIZE of the service'],
  [/^57P0. /, 'it takes no connections at the moment (%s); try again'],
  [
    /^CERT_(HAS_EXPIRED|NOT_YET_VALID) /,
    'its TLS certificate is not valid now (%s); renew it at the server, or set the clock',
  ],
  [
    /ALTNAME_INVALID /,
    'its TLS certificate names another host (%s); correct the host in DATABASE_URL, or set sslmode=verify-ca',
  ],
  [
    /CERT|SELF_SIGNED|UNABLE_TO/,
    'its TLS certificate is not trusted (%s); set DATABASE_SSL_CA_FILE, or sslmode in DATABASE_URL',
  ],
  [/^\S*(EPROTO|ERR_SSL)/, 'the TLS handshake failed; correct sslmode in DATABASE_URL'],
  [/does not support SSL/, 'it does not speak TLS; set ssl = on at the server, or sslmode=disable in DATABASE_URL'],
  [/password must be a (non-empty )?string|no password/i, 'it requires a password; add one to DATABASE_URL'],
  [
    /^(55P03|57014) /,
    'a statement did not finish in time (%s); end the session that has its lock, or raise that limit of the user',
  ],
  [/timeout/, 'it does not respond in time; correct host and port in DATABASE_URL, or the network'],
  [/^ Connection terminated/, 'it closed the connection; check that a PostgreSQL server listens there'],
];

/** Explains to an operator why the server cannot be used at start, without the password. */
export function startError(server: string, error: unknown): DatabaseStartError {
  const failure = rootCause(error);
  const text = `${codeOf(failure)} ${failure.message}`;
  const reason = REASONS.find(([pattern]) => pattern.test(text))?.[1] ?? 'it cannot be used: %s';
  const message = reason.replace('%s', () => failure.message);
  return new DatabaseStartError(`The PostgreSQL server ${server} cannot serve: ${message}.`, { cause: error });
}

export function isOfServer(error: unknown): boolean {
  const failure = rootCause(error);
  return codeOf(failure) !== '' || isConnectionFailure(failure);
}
