import { parsePostgresUrl } from './postgres-url.js';

describe('the URL of a PostgreSQL server', () => {
  it('names user, password, host, port and database', () => {
    expect(parsePostgresUrl('postgres://cook:s3cret@db.example:6432/cookies')).toEqual({
      engine: 'postgres',
      hosts: [{ host: 'db.example', port: 6432 }],
      user: 'cook',
      password: 's3cret',
      database: 'cookies',
      sslMode: 'disable',
    });
  });

  it.each([
    ['port 5432 when it names none', 'postgres://u@h/d', { hosts: [{ host: 'h', port: 5432 }] }],
    ['percent-encoded parts', 'postgres://u%40:%2F%3A%25@h/d%20b', { user: 'u@', password: '/:%', database: 'd b' }],
    ['an IPv6 address', 'postgres://u@[::1]:1/d', { hosts: [{ host: '::1', port: 1 }] }],
    ['the folder of a socket', 'postgres://u@%2Frun%2Fpg/d', { hosts: [{ host: '/run/pg', port: 5432 }] }],
    ['sslmode', 'postgres://u@h/d?sslmode=verify-full', { sslMode: 'verify-full' }],
    [
      'several hosts',
      'postgres://u@a,b:2/d?target_session_attrs=read-write',
      { hosts: [{ host: 'a' }, { host: 'b', port: 2 }] },
    ],
  ])('may have %s', (_what, url, parts) => {
    const parsed = parsePostgresUrl(url);
    expect({ ...parsed, password: parsed.password }).toMatchObject(parts);
  });

  it.each([
    ['without a user', 'postgres://h/d', 'user'],
    ['without a host', 'postgres://u:hunter2@/d', 'host'],
    ['without a database', 'postgres://u:hunter2@h', 'database'],
    ['without slashes', 'postgres:u:hunter2@h/d', 'postgres://user:password@host'],
    ['with an "@" in the password', 'postgres://u:hunter2@x@h/d', '%40'],
    ['with a "%" in the password', 'postgres://u:hunter2%x@h/d', '%25'],
    ['with a "#" in the password', 'postgres://u:hunter2#x@h/d', 'postgres://user:password@host'],
    ['with a port that is none', 'postgres://u:hunter2@h:http/d', '5432'],
    ['with a port out of range', 'postgres://u:hunter2@h:65536/d', '65535'],
    ['with an unknown sslmode', 'postgres://u:hunter2@h/d?sslmode=prefer', 'verify-full'],
    ['with an unknown parameter', 'postgres://u:hunter2@h/d?poolsize=3', 'sslmode'],
  ])('%s is rejected, and the password not repeated', (_what, url, hint) => {
    expect(() => parsePostgresUrl(url)).toThrow(hint);
    expect(() => parsePostgresUrl(url)).not.toThrow('hunter2');
  });
});
