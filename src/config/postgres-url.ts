import { withMessage } from './setting.js';

/** Modes of encryption and of checks of the server's certificate, with the names of libpq. */
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof SSL_MODES)[number];

export interface PostgresHost {
  /** A host name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

/** One or several PostgreSQL servers. Of several servers, one is the primary. */
export interface PostgresUrl {
  readonly engine: 'postgres';
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly password?: string;
  readonly database: string;
  readonly sslMode: SslMode;
}

const PORT = 5432;

/** User, password, hosts, database and query. Other characters of the parts are percent-encoded. */
const FORM = /^postgres(?:ql)?:\/\/([^:@/?#]+)(?::([^:@/?#]*))?@([^@/?#]+)\/([^@/?#]+)(?:\?([^@#]*))?$/;

const HOST = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::([0-9]+))?$/;

const EXPECTED =
  'must be "postgres://user:password@host:5432/database"; in a password write "%40" for "@", "%3A" for ":", "%2F" for "/", ' +
  '"%3F" for "?", "%23" for "#" and "%25" for "%"';

/**
 * Parses `postgres://user:password@host:port,host:port/database?sslmode=verify-full`. Libraries accept any text and
 * repeat it in their errors (docs/adr/0036-postgresql-url-parser.md).
 * @throws {Error} with the right form. It does not repeat the text, because a misplaced part may be the password.
 */
export function parsePostgresUrl(url: string): PostgresUrl {
  const [, user, password, hosts, database, query = ''] = FORM.exec(url) ?? [];
  if (user === undefined) throw new Error(EXPECTED);
  return {
    engine: 'postgres',
    hosts: hosts!.split(',').map(parseHost),
    user: decode(user),
    ...(password && { password: decode(password) }),
    database: decode(database!),
    ...parseQuery(query),
  };
}

function parseHost(text: string): PostgresHost {
  const [, name, port = PORT] = HOST.exec(text) ?? [];
  if (name === undefined) throw new Error(EXPECTED);
  if (Number(port) < 1 || Number(port) > 65535) throw new Error('must have a port from 1 to 65535');
  return { host: decode(name.replace(/^\[|\]$/g, '')), port: Number(port) };
}

function parseQuery(query: string): { sslMode: SslMode } {
  const { sslmode = 'disable', ...others } = Object.fromEntries(new URLSearchParams(query));
  // The primary among several hosts is always found, so target_session_attrs has no effect.
  if (Object.entries(others).some((each) => each.join('=') !== 'target_session_attrs=read-write')) {
    throw new Error('may have no other parameters than sslmode and target_session_attrs=read-write');
  }
  const sslMode = SSL_MODES.find((mode) => mode === sslmode);
  if (sslMode === undefined) throw new Error(`must have one of ${SSL_MODES.join(', ')} as sslmode`);
  return { sslMode };
}

const decode = (text: string): string => withMessage(EXPECTED, () => decodeURIComponent(text));
