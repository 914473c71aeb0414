import type { Random } from './random.js';

/** Changes the bytes of a message. `other` is another message to take bytes from. */
type Mutation = (bytes: string, random: Random, other: string) => string;

const byte = (random: Random): string => String.fromCharCode(random.below(256));

const SPECIAL = ['\r', '\n', '\r\n', '\0', ' ', '\t', ':', ',', ';', '%', '"', '\\', '\x7f', '\xff', '\xc3\x28'];

const VERSIONS = 'HTTP/1.0 HTTP/2.0 RTSP/1.0 HTTP/0.9 HTTP/1.2 HTTP/1 http/1.1 ICE/1.0 HTTP/11'.split(' ');

const METHODS = ['', ...'CONNECT TRACE PRI SOURCE PROPFIND OPTIONS HEAD get G\tET M-SEARCH QUERY'.split(' ')];

const TARGETS = [
  'http://cookies/cookies',
  'https://elsewhere.example:443/cookies/1',
  ...'cookies:80 a:1 * //cookies /cookies/ /cookies/../cookies /%63ookies /cookies\\1 /cookies#x'.split(' '),
  ...['%', '%zz', '%00', '%2e%2e', '%C3%28', '\xff\xfe'].map((id) => `/cookies/${id}`),
  '/cookies?limit=1&limit=1',
  '/cookies?%00=%zz',
  '/docs/../../package.json',
  '/docs/%2e%2e%2fpackage.json',
  `/${'a'.repeat(20_000)}`,
  `/cookies/${'1'.repeat(15_000)}`,
  `/cookies?${'&'.repeat(9000)}`,
];

const FIELDS = [
  ...['chunked', 'gzip', 'gzip, chunked', 'chunked, chunked', 'xchunked'].map(
    (coding) => `Transfer-Encoding: ${coding}`,
  ),
  'Transfer-Encoding : chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: 5',
  ...['5', '-1', '+5', '0x5', '5, 5', '9'.repeat(20), '9007199254740993'].map((length) => `Content-Length: ${length}`),
  ...['elsewhere.example', 'a b', '[::1', '', 'user@cookies', 'cookies:99999999'].map((host) => `Host: ${host}`),
  'Connection: close',
  'Connection: keep-alive, Upgrade\r\nUpgrade: websocket',
  'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  ...['100-continue', '200-ok', '100-continue, 100-continue', ''].map((expected) => `Expect: ${expected}`),
  'X-Request-Id: two words',
  'X-Folded: a\r\n b',
  'X-Folded: a\n\tb',
  'X-Null: a\0b',
  'X-Latin: \xe9\xff',
  'X-Return: a\rb',
  'X Space: a',
  ': no name',
  'no colon',
  'If-Match: "a", W/"b", *',
  'If-Match: \xff"',
  'If-None-Match: ""',
  'Authorization: Bearer a.b.c',
  'Authorization: \xff',
  'Content-Type: application/json; charset=latin1',
  'Content-Type: text/plain',
  'Content-Encoding: gzip',
  'Origin: \r\nAccess-Control-Request-Method: ',
  'Origin: https://app.example.com\r\nAccess-Control-Request-Method: \xff',
  'X-Forwarded-For: 1.2.3.4, \xff',
  'Trailer: X-Request-Id',
  'TE: trailers',
  'Keep-Alive: timeout=0, max=0',
];

const BAD_CHUNKS = [
  '5\r\nab',
  'zz\r\nabcde\r\n0\r\n\r\n',
  '-5\r\nabcde\r\n0\r\n\r\n',
  '5;ext=\x00\r\nabcde\r\n0\r\n\r\n',
  `5;${'e'.repeat(20_000)}\r\nabcde\r\n0\r\n\r\n`,
  '5\r\nabcdefgh\r\n0\r\n\r\n',
  'ffffffffffffffff1\r\nabcde\r\n0\r\n\r\n',
  '7fffffff\r\nabcde\r\n0\r\n\r\n',
  '5\nabcde\n0\n\n',
  '0\r\nX-Trailer: a\r\n\r\n',
  `0\r\n${'X-Trailer: a\r\n'.repeat(3000)}\r\n`,
  '0\r\nContent-Length: 5\r\n',
];

const SOME_FIELDS = [10, 100, 500, 1990, 2001, 2100];

const replaceFirst = (bytes: string, pattern: RegExp, text: string): string => bytes.replace(pattern, () => text);

const addField = (bytes: string, field: string): string => replaceFirst(bytes, /\r\n/, `\r\n${field}\r\n`);

const splice = (bytes: string, at: number, remove: number, insert: string): string =>
  bytes.slice(0, at) + insert + bytes.slice(at + remove);

const withoutBody = (bytes: string): string => bytes.slice(0, bytes.indexOf('\r\n\r\n') + 4);

const withChunks = (bytes: string, chunks: string): string =>
  addField(withoutBody(bytes).replace(/Content-Length: \d+\r\n/, ''), 'Transfer-Encoding: chunked') + chunks;

/** Mutations at any place. */
const ANYWHERE: readonly Mutation[] = [
  (bytes, random) => splice(bytes, random.below(bytes.length), 1, byte(random)),
  (bytes, random) => {
    const at = random.below(bytes.length);
    return splice(bytes, at, 1, String.fromCharCode(bytes.charCodeAt(at) ^ (1 << random.below(8))));
  },
  (bytes, random) => splice(bytes, random.below(bytes.length), 0, byte(random)),
  (bytes, random) => splice(bytes, random.below(bytes.length), 0, random.pick(SPECIAL)),
  (bytes, random) => splice(bytes, random.below(bytes.length), random.between(1, 8), ''),
  (bytes, random) => {
    const at = random.below(bytes.length);
    return splice(bytes, at, 0, bytes.slice(at, at + random.between(1, 200)));
  },
  (bytes, random, other) => bytes.slice(0, random.below(bytes.length)) + other.slice(random.below(other.length)),
  (bytes, random) => bytes.slice(0, random.between(1, bytes.length)),
];

/** Mutations at places with a meaning in HTTP. */
const IN_PLACE: readonly Mutation[] = [
  (bytes, random) => replaceFirst(bytes, /HTTP\/1\.1/, random.pick(VERSIONS)),
  (bytes, random) => replaceFirst(bytes, /^\S+/, random.pick(METHODS)),
  (bytes, random) => replaceFirst(bytes, / \S+ /, ` ${random.pick(TARGETS)} `),
  (bytes, random) => replaceFirst(bytes, /^\S+ \S+/, `CONNECT ${random.pick(TARGETS)}`),
  (bytes, random) => addField(bytes, random.pick(FIELDS)),
  (bytes, random) => addField(bytes, random.pick(FIELDS)),
  (bytes, random) => addField(addField(bytes, random.pick(FIELDS)), random.pick(FIELDS)),
  (bytes, random) =>
    replaceFirst(bytes, /Host: [^\r]*/, `Host: ${random.pick(['', 'a b', 'a,b', '[', 'é', 'a/b', ':1'])}`),
  (bytes) => replaceFirst(bytes, /Host: [^\r]*\r\n/, ''),
  (bytes, random) => withChunks(bytes, random.pick(BAD_CHUNKS)),
  (bytes) => replaceFirst(withChunks(bytes, '2\r\n{}\r\n0\r\n\r\n'), /HTTP\/1\.1/, 'HTTP/1.0'),
  (bytes) => bytes.replaceAll('\r\n', '\n'),
  (bytes) => bytes.replaceAll('\r\n', '\r'),
  (bytes, random) => replaceFirst(bytes, /\d+(?=\r\n\r\n)/, String(random.below(300))),
  (bytes, random) => `${random.pick(['\r\n', '\n', '\r\n\r\n\r\n', ' ', '\0', '\x16\x03\x01\x02\x00\x01'])}${bytes}`,
];

/** Long mutations, used rarely. */
const LONG: readonly Mutation[] = [
  (bytes, random) => addField(bytes, 'X-Many: a\r\n'.repeat(random.pick(SOME_FIELDS)) + 'X-Last: a'),
  (bytes, random) => addField(bytes, 'a:b\r\n'.repeat(random.pick(SOME_FIELDS)) + 'If-Match: "never"'),
  (bytes, random) => addField(bytes, `X-Long: ${'x'.repeat(random.pick([8000, 16_000, 17_000, 70_000]))}`),
  (bytes, random) => bytes + 'x'.repeat(random.pick([20_000, 70_000])),
  (_bytes, random) => Array.from({ length: 300 }, () => byte(random)).join(''),
];

/** Mutates the bytes of a message one to three times. */
export function mutated(bytes: string, random: Random, other: string): string {
  const kinds = [
    [48, ANYWHERE],
    [48, IN_PLACE],
    [2, LONG],
  ] as const;
  let result = bytes;
  for (let times = random.pick([1, 1, 1, 2, 3]); times > 0; times--) {
    const mutation = random.pick(random.weighted<readonly Mutation[]>(kinds));
    if (result !== '') result = mutation(result, random, other);
  }
  return result;
}
