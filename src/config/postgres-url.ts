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

/**
 * Parses `postgres://user:password@host:port,host:port/database?sslmode=verify-full`. Libraries accept any text and
 * repeat it in their errors (docs/adr/0036-postgresql-url-parser.md).
 * @throws {Error} with the problem. It does not repeat the text, because a misplaced part may be the password.
 */
export function parsePostgresUrl(url: string): PostgresUrl {
  const [, authority, path, query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/.exec(url) ?? [];
  if (authority === undefined) throw new Error('must be "postgres://user:password@host:5432/database"');
  if (path?.includes('@') || query.includes('@')) throw new Error(`has a "/" or "?" in the password: ${ENCODE}`);
  const at = authority.lastIndexOf('@');
  const userInfo = at < 0 ? '' : authority.slice(0, at);
  if (userInfo.includes('@')) throw new Error(`has an "@" in the user or the password: ${ENCODE}`);
  const [user, password, ...more] = userInfo.split(':').map(decode);
  if (!user) throw new Error('must name the user: "postgres://user:password@host:5432/database"');
  if (more.length > 0) throw new Error(`has a ":" in the password: ${ENCODE}`);
  if (!path) throw new Error('must name the database: "postgres://user:password@host:5432/database"');
  if (path.includes('/')) throw new Error(`has a "/" in the name of the database: ${ENCODE}`);
  const hosts = authority
    .slice(at + 1)
    .split(',')
    .map(parseHost);
  return {
    engine: 'postgres',
    hosts,
    user,
    ...(password && { password }),
    database: decode(path),
    ...parseQuery(query),
  };
}

const ENCODE = 'percent-encode it, as "%40" for "@", "%3A" for ":", "%2F" for "/", "%3F" for "?"';

function parseHost(text: string): PostgresHost {
  const [, name, port] = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*)(?::([0-9]+))?$/.exec(text) ?? [];
  if (name === undefined)
    throw new Error('must have a number for each port: "host:5432"; a password is percent-encoded');
  if (name === '') throw new Error('must name the host: "postgres://user:password@host:5432/database"');
  const number = port === undefined ? PORT : Number(port);
  if (number < 1 || number > 65535) throw new Error('must have a port from 1 to 65535');
  return { host: decode(name.replace(/^\[|\]$/g, '')), port: number };
}

function parseQuery(query: string): { sslMode: SslMode } {
  let sslMode: SslMode = 'disable';
  for (const [name, value] of new URLSearchParams(query)) {
    if (name === 'sslmode') {
      if (!(SSL_MODES as readonly string[]).includes(value)) {
        throw new Error(`must have one of ${SSL_MODES.join(', ')} as sslmode`);
      }
      sslMode = value as SslMode;
    } else if (name !== 'target_session_attrs' || value !== 'read-write') {
      // The primary among several hosts is always found, so target_session_attrs has no effect.
      throw new Error('may have no other parameters than sslmode and target_session_attrs=read-write');
    }
  }
  return { sslMode };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a "%" that begins no percent-encoded character; write it as "%25"');
  }
}
