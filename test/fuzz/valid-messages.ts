import { FLAVORS, SIZES } from './contract.js';
import { type Message, messageBytes, type Tokens, utf8 } from './message.js';
import type { Random } from './random.js';

const JSON_TYPE = 'Content-Type: application/json';
type Draft = Omit<Message, 'id' | 'bytes'> & {
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** Makes valid requests of every route, with the expected statuses. */
export class ValidMessages {
  private readonly bearer: string;

  /** @param stored ids of records that may exist */
  constructor(
    private readonly random: Random,
    readonly tokens: Tokens,
    private readonly stored: readonly number[],
  ) {
    this.bearer = `Authorization: Bearer ${tokens.both}`;
  }

  make(id: string): Message {
    const { target, headers, body, ...draft } = this.random.weighted(KINDS)(this, id);
    return { id, bytes: messageBytes({ id, method: draft.method, target, headers, body }), ...draft };
  }

  /** The last request of a connection. */
  last(id: string): Message {
    const headers = [this.bearer, 'Connection: close'];
    const bytes = messageBytes({ id, method: 'GET', target: '/cookies/9007199254740991', headers });
    return { id, bytes, method: 'GET', expected: [404] };
  }

  /** A request after which the service closes the connection: it ignores the `Upgrade`. */
  upgrade(id: string): Message {
    const { bytes, ...message } = this.make(id);
    const field = this.random.pick(['Upgrade: websocket', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk']);
    return { ...message, bytes: bytes.replace('\r\n', `\r\nConnection: Upgrade, HTTP2-Settings\r\n${field}\r\n`) };
  }

  /** A POST with an incomplete body. */
  unfinished(id: string): Message {
    const { both, read } = this.tokens;
    const [status, credentials] = this.random.pick<[number, string[]]>([
      [401, []],
      [403, [`Authorization: Bearer ${read}`]],
      [400, [`Authorization: Bearer ${both}`]],
    ]);
    const headers = [JSON_TYPE, ...credentials];
    const body = `{"flavor":"vanilla","size":"small","wish":"of ${id}"}`;
    const bytes = messageBytes({ id, method: 'POST', target: '/cookies', headers, body });
    return {
      id,
      method: 'POST',
      expected: [status],
      isUnfinished: true,
      bytes: bytes.slice(0, -this.random.between(1, body.length)),
    };
  }

  create(id: string, headers: readonly string[] = []): Draft {
    const wish = utf8(this.random.pick([`of ${id}`, `of ${id}`, `of ${id} 🍪 é`]));
    const body = `{"flavor":"${this.random.pick(FLAVORS)}","size":"${this.random.pick(SIZES)}","wish":"${wish}"}`;
    return this.withToken('POST', '/cookies', [201, 507], [JSON_TYPE, ...headers], body);
  }

  createInChunks(id: string): Draft {
    const { body = '', ...draft } = this.create(id);
    const cut = this.random.below(body.length - 1) + 1;
    const chunks = [body.slice(0, cut), body.slice(cut)];
    const text = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    // No Content-Length: the body follows the empty line here.
    return { ...draft, headers: [...draft.headers!, `Transfer-Encoding: chunked\r\n\r\n${text}0`] };
  }

  change(): Draft {
    const [method, expected] = this.random.pick<[string, number[]]>([
      ['PUT', [200, 404]],
      ['PATCH', [204, 404]],
    ]);
    const body = `{"flavor":"${this.random.pick(FLAVORS)}","size":"${this.random.pick(SIZES)}"}`;
    return this.withToken(method, this.record(), expected, [JSON_TYPE], body);
  }

  unauthenticated(): Draft {
    const [method, target] = this.random.pick<[string, string]>([
      ['GET', '/cookies'],
      ['POST', '/cookies'],
      ['DELETE', '/cookies/1'],
      ['PATCH', '/cookies/zero'],
    ]);
    const { both, forged } = this.tokens;
    const credentials = [[], [`Authorization: Bearer ${forged}`], [`Authorization: Basic ${both}`]];
    return { method, target, headers: this.random.pick(credentials), expected: [401] };
  }

  malformed(): Draft {
    const [type, body, status] = this.random.pick<[string, string, number]>([
      [JSON_TYPE, '{', 400],
      [JSON_TYPE, '{"flavor":"mint","size":"small","wish":"x"}', 400],
      ['Content-Type: text/plain', '{}', 415],
      [JSON_TYPE, ' '.repeat(16_385), 413],
    ]);
    return this.withToken('POST', '/cookies', [status], [type], body);
  }

  open(): Draft {
    return this.random.pick<Draft>([
      { method: 'GET', target: '/openapi.json', expected: [200] },
      { method: 'HEAD', target: '/docs', expected: [200] },
      { method: 'GET', target: '/docs/swagger-ui-initializer.js', expected: [200, 404] },
    ]);
  }

  unrouted(): Draft {
    return this.random.pick<Draft>([
      { method: 'OPTIONS', target: '/cookies', expected: [204] },
      {
        method: 'OPTIONS',
        target: '/cookies',
        headers: ['Origin: https://app.example.com', 'Access-Control-Request-Method: POST'],
        expected: [204],
      },
      { method: 'GET', target: '/nothing', expected: [404] },
      { method: 'PUT', target: '/cookies', expected: [405] },
      { method: 'TRACE', target: '/cookies/1', expected: [405] },
    ]);
  }

  withToken(method: string, target: string, expected: number[], more: readonly string[] = [], body?: string): Draft {
    return { method, target, headers: [this.bearer, ...more], body, expected };
  }

  oneOf(...methods: string[]): string {
    return this.random.pick(methods);
  }

  record(): string {
    return `/cookies/${this.stored.length > 0 ? this.random.pick(this.stored) : 1}`;
  }
}

const PAGES = ['limit=1', 'limit=5&sort=-id', 'limit=3&flavor=vanilla', 'limit=2&after=1'];

const KINDS: readonly (readonly [number, (from: ValidMessages, id: string) => Draft])[] = [
  [28, (from, id) => from.create(id)],
  [3, (from, id) => from.createInChunks(id)],
  [2, (from, id) => from.create(id, ['Expect: 100-continue'])],
  [12, (from) => from.change()],
  [16, (from) => from.withToken('DELETE', from.record(), [204, 404])],
  [24, (from) => from.withToken(from.oneOf('GET', 'GET', 'GET', 'HEAD'), from.record(), [200, 404])],
  [10, (from) => from.withToken('GET', `/cookies?${from.oneOf(...PAGES)}`, [200])],
  [1, (from) => from.withToken(from.oneOf('GET', 'HEAD'), '/cookies', [200])],
  [2, (from) => from.withToken('GET', '/cookies', [304], ['If-None-Match: *'])],
  [8, (from) => from.unauthenticated()],
  [
    2,
    ({ tokens: { read } }) => ({
      method: 'POST',
      target: '/cookies',
      headers: [`Authorization: Bearer ${read}`],
      expected: [403],
    }),
  ],
  [3, (from) => from.malformed()],
  [1, (from) => from.open()],
  [4, (from) => from.unrouted()],
];
