import { QueryFailedError } from 'typeorm';
import { type EngineError, engineErrors } from '../events/error-events.js';
import {
  ConnectionLostError,
  DatabaseStartError,
  DatabaseUnavailableError,
  DiskFullError,
  OutcomeUnknownError,
} from '../errors.js';

/** The SQLSTATE of the server (https://www.postgresql.org/docs/current/errcodes-appendix.html), or Node's code of a socket. */
function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/**
 * Whether the server says 08P01 of one statement, such as one with too few parameters. With the same code, as FATAL, PgBouncer says
 * that it has lost the server.
 */
function isOfStatement(error: unknown): boolean {
  return codeOf(error) === '08P01' && (error as { severity?: unknown }).severity !== 'FATAL';
}

/** What ends the session or makes its server the wrong one: the connection must not be used again. */
const SESSION_OVER = /^(08...|57P0.|25006|25P0[345]|2600.|42P05|E[A-Z_]+)$/;

/** What another session or a bound was the cause of; the connection itself is in order. */
const TRANSIENT = /^(40003|55P03|57014|53...|58...)$/;

/** data_corrupted, index_corrupted and io_error: the server's files are damaged, or its volume is. */
const DAMAGED = /^(XX001|XX002|58030)$/;

/** What node-postgres throws without a code when a connection fails. */
const WITHOUT_CODE =
  /^(Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed|timeout e)/;

/** The database undid the transaction for the sake of another one, so it may be run again. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01)$/.test(codeOf(error));
}

/** Whether the connection is broken, timed out or leads to a server that cannot be written. */
export function isConnectionFailure(error: unknown): boolean {
  const code = codeOf(error);
  if (isOfStatement(error)) return false;
  return code === '' ? WITHOUT_CODE.test((error as Error | undefined)?.message ?? '') : SESSION_OVER.test(code);
}

/** Whether the server did not respond in time: trying again would only make its client wait as long again. */
export function isTimeout(error: unknown): boolean {
  return /^(Query read timeout|timeout e|Connection terminated due to connection timeout)/.test(
    (error as Error).message,
  );
}

/** Whether the server has no free slot for another connection, or takes none at the moment (class 53, 57P03). */
export function isServerFull(error: unknown): boolean {
  return /^(53...|57P03)$/.test(codeOf(error));
}

/**
 * What the server may report, or leave unsaid, when a COMMIT has been sent and may have been done. Of what ends a session, the
 * time-outs and 25006 are reported instead of running the statement. 40003 is the standard's own code for it.
 */
const LOST_RESPONSE = /^(08...|57P0[12]|40003|E[A-Z_]+)$/;

/** What node-postgres throws without having sent anything. */
const NEVER_SENT = /not queryable/;

/** Whether a COMMIT or autocommit statement that failed with it may have taken effect all the same. */
function isResponseLost(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== '') return LOST_RESPONSE.test(code) && !isOfStatement(error);
  const { message } = error as Error;
  return WITHOUT_CODE.test(message) && !NEVER_SENT.test(message);
}

/** The error for a change that may have been committed; `undefined` where the error says that it was not. */
export function outcomeUnknown(error: unknown): OutcomeUnknownError | undefined {
  if (error instanceof OutcomeUnknownError) return error;
  return isResponseLost(error) ? new OutcomeUnknownError('The response to COMMIT was lost', error) : undefined;
}

/** Whether the server is a standby, or was the primary until now. */
export function isReadOnlyServer(error: unknown): boolean {
  return codeOf(error) === '25006';
}

/** The error of this service for a database that is full, busy or away; `undefined` for an error of the statement itself. */
export function translatePostgresError(error: unknown): Error | undefined {
  const code = codeOf(error);
  if (code === '53100') return new DiskFullError(error);
  if (isReadOnlyServer(error)) {
    return new DatabaseUnavailableError('The server is read-only, a standby perhaps', error, 'away');
  }
  if (isTimeout(error)) return new DatabaseUnavailableError('The database did not respond in time', error, 'away');
  if (isConnectionFailure(error)) return new ConnectionLostError(error);
  if (DAMAGED.test(code)) {
    const message = `The database is damaged (${code}: ${(error as Error).message})`;
    return new DatabaseUnavailableError(message, error, 'damaged');
  }
  if (isConflict(error)) {
    return new DatabaseUnavailableError(
      `The database undid the transaction, which conflicted with another (${code})`,
      error,
    );
  }
  if (TRANSIENT.test(code))
    return new DatabaseUnavailableError(`The database could not finish in time (${code})`, error);
  return undefined;
}

/** Publishes what an error says of the server; nothing for a failure of the statement, a lock or a time-out. */
export function publishEngineError(error: unknown): void {
  const kind = engineErrorOf(error);
  if (kind !== undefined) engineErrors.publish(kind);
}

function engineErrorOf(error: unknown): EngineError | undefined {
  const code = codeOf(error);
  if (code === '53100') return 'full';
  if (DAMAGED.test(code)) return code.startsWith('XX') ? 'corrupt' : 'io';
  return isConnectionFailure(error) ? 'unreachable' : undefined;
}

/** An error of node-postgres as TypeORM code meets it, too; any other as it is. */
export function explained(error: unknown, sql: string, parameters: unknown[]): Error {
  const translated = translatePostgresError(error);
  if (translated !== undefined) return translated;
  return codeOf(error) === '' ? (error as Error) : new QueryFailedError(sql, parameters, error as Error);
}

const rejectedUser = ({ message }: Error): string =>
  /no encryption/.test(message)
    ? 'it wants TLS; add ?sslmode=verify-full to DATABASE_URL'
    : `it rejects the user (${message}); correct user and password in DATABASE_URL`;

const REASONS: readonly [RegExp, (error: Error) => string][] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, () => 'its host name is not known; correct the host in DATABASE_URL'],
  [/^ECONNREFUSED$/, () => 'nothing listens there; start the server, or correct host and port in DATABASE_URL'],
  [
    /^(EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)$/,
    () => 'the host cannot be reached; correct it in DATABASE_URL, or the network',
  ],
  [/^ENOENT$/, () => 'there is no such socket; correct the folder in DATABASE_URL, or start the server'],
  [/^(28P01|28000)$/, rejectedUser],
  [/^3D000$/, () => 'it has no such database; create it with CREATE DATABASE, or correct the name in DATABASE_URL'],
  [/^42501$/, ({ message }) => `the user lacks a right (${message}); make the user the owner of the database`],
  [/^25006$/, () => 'it is read-only, a standby perhaps; name the primary, or all servers, in DATABASE_URL'],
  [/^(53300|57P0.)$/, ({ message }) => `it takes no connections at the moment (${message}); try again`],
  [
    /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/,
    ({ message }) =>
      `its TLS certificate is not trusted (${message}); set DATABASE_SSL_CA_FILE, or sslmode in DATABASE_URL`,
  ],
  [/EPROTO|^ERR_SSL/, () => 'the TLS handshake failed; correct sslmode in DATABASE_URL'],
];

const MESSAGES: readonly [RegExp, string][] = [
  [/does not support SSL/, 'it does not speak TLS; set ssl = on at the server, or sslmode=disable in DATABASE_URL'],
  [/password must be a (non-empty )?string|no password/i, 'it wants a password; add one to DATABASE_URL'],
  [/timeout/, 'it does not respond in time; correct host and port in DATABASE_URL, or the network'],
  [/^Connection terminated/, 'it closed the connection; see that a PostgreSQL server listens there'],
];

/** What an operator reads when the server cannot be used at start: which, why, and what would be right. No password. */
export function startError(server: string, error: unknown): DatabaseStartError {
  const failure = innermost(error);
  const known =
    REASONS.find(([pattern]) => pattern.test(codeOf(failure)))?.[1](failure) ??
    MESSAGES.find(([pattern]) => pattern.test(failure.message))?.[1] ??
    `it cannot be used: ${failure.message}`;
  return new DatabaseStartError(`The PostgreSQL server ${server} cannot serve: ${known}.`, error);
}

/** Whether a failure before the service is up comes from the server, and not from the code. */
export function isOfServer(error: unknown): boolean {
  const failure = innermost(error);
  return codeOf(failure) !== '' || isConnectionFailure(failure);
}

/** The error of node-postgres beneath those of the data layer, of TypeORM and of a connection to several addresses. */
function innermost(error: unknown): Error {
  const { cause, driverError, errors } = error as { cause?: unknown; driverError?: unknown; errors?: unknown[] };
  const inner = driverError ?? (codeOf(error) === '' || errors ? (errors?.[0] ?? cause) : undefined);
  return inner === undefined ? (error as Error) : innermost(inner);
}
