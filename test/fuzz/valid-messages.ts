import { FLAVORS, SIZES } from './contract.js';
import { type Message, messageBytes, type Tokens, utf8 } from './message.js';
import type { Random } from './random.js';

const JSON_TYPE = 'Content-Type: application/json';
const PAGES = ['limit=1', 'limit=5&sort=-id', 'limit=3&flavor=vanilla', 'limit=2&after=1'];
const PREFLIGHT = ['Origin: https://app.example.com', 'Access-Control-Request-Method: POST'];

type Draft = Omit<Message, 'id' | 'bytes'> & {
  readonly target: string;
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** A request such as `GET /cookies`, and its expected statuses. */
function draft(request: string, expected: number[], headers: readonly string[] = [], body?: string): Draft {
  const [method = '', target = ''] = request.split(' ');
  return { method, target, headers, body, expected };
}

/** Makes valid requests of every route, with the expected statuses. */
export class ValidMessages {
  readonly bearer: string;

  /** @param stored ids of records that may exist */
  constructor(
    readonly random: Random,
    readonly tokens: Tokens,
    private readonly stored: readonly number[],
  ) {
    this.bearer = `Authorization: Bearer ${tokens.both}`;
  }

  make(id: string): Message {
    const { target, headers, body, ...others } = this.random.weighted(KINDS)(this, id);
    return { id, bytes: messageBytes({ id, method: others.method, target, headers, body }), ...others };
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
    const [status, credentials] = this.random.pick<[number, string[]]>([
      [401, []],
      [403, [`Authorization: Bearer ${this.tokens.read}`]],
      [400, [this.bearer]],
    ]);
    const body = this.cookie(id);
    const bytes = messageBytes({ id, method: 'POST', target: '/cookies', headers: [JSON_TYPE, ...credentials], body });
    const sent = bytes.slice(0, -this.random.between(1, body.length));
    return { id, method: 'POST', expected: [status], isUnfinished: true, bytes: sent };
  }

  /** A request with a token. */
  authorized(request: string, expected: number[], more: readonly string[] = [], body?: string): Draft {
    return draft(request, expected, [this.bearer, ...more], body);
  }

  create(id: string, headers: readonly string[] = []): Draft {
    return this.authorized('POST /cookies', [201, 507], [JSON_TYPE, ...headers], this.cookie(id));
  }

  createInChunks(id: string): Draft {
    const { body = '', ...others } = this.create(id);
    const cut = this.random.below(body.length - 1) + 1;
    const chunks = [body.slice(0, cut), body.slice(cut)];
    const text = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
    // No Content-Length: the body follows the empty line here.
    return { ...others, headers: [...others.headers!, `Transfer-Encoding: chunked\r\n\r\n${text}0`] };
  }

  /** The body of POST, whose wish names the request. */
  private cookie(id: string): string {
    const wish = utf8(this.random.pick([`of ${id}`, `of ${id}`, `of ${id} 🍪 é`]));
    return `{"flavor":"${this.random.pick(FLAVORS)}","size":"${this.random.pick(SIZES)}","wish":"${wish}"}`;
  }

  record(): string {
    return `/cookies/${this.stored.length > 0 ? this.random.pick(this.stored) : 1}`;
  }
}

const KINDS: readonly (readonly [number, (from: ValidMessages, id: string) => Draft])[] = [
  [28, (from, id) => from.create(id)],
  [3, (from, id) => from.createInChunks(id)],
  [2, (from, id) => from.create(id, ['Expect: 100-continue'])],
  [
    12,
    (from) => {
      const body = `{"flavor":"${from.random.pick(FLAVORS)}","size":"${from.random.pick(SIZES)}"}`;
      const [method, status] = from.random.pick<[string, number]>([
        ['PUT', 200],
        ['PATCH', 204],
      ]);
      return from.authorized(`${method} ${from.record()}`, [status, 404], [JSON_TYPE], body);
    },
  ],
  [16, (from) => from.authorized(`DELETE ${from.record()}`, [204, 404])],
  [18, (from) => from.authorized(`GET ${from.record()}`, [200, 404])],
  [6, (from) => from.authorized(`HEAD ${from.record()}`, [200, 404])],
  [10, (from) => from.authorized(`GET /cookies?${from.random.pick(PAGES)}`, [200])],
  [1, (from) => from.authorized(`${from.random.pick(['GET', 'HEAD'])} /cookies`, [200])],
  [2, (from) => from.authorized('GET /cookies', [304], ['If-None-Match: *'])],
  [
    8,
    ({ random, tokens: { both, forged } }) => {
      const requests = ['GET /cookies', 'POST /cookies', 'DELETE /cookies/1', 'PATCH /cookies/zero'];
      const credentials = [[], [`Authorization: Bearer ${forged}`], [`Authorization: Basic ${both}`]];
      return draft(random.pick(requests), [401], random.pick(credentials));
    },
  ],
  [2, ({ tokens: { read } }) => draft('POST /cookies', [403], [`Authorization: Bearer ${read}`])],
  [
    3,
    (from) => {
      const [type, body, status] = from.random.pick<[string, string, number]>([
        [JSON_TYPE, '{', 400],
        [JSON_TYPE, '{"flavor":"mint","size":"small","wish":"x"}', 400],
        ['Content-Type: text/plain', '{}', 415],
        [JSON_TYPE, ' '.repeat(16_385), 413],
      ]);
      return from.authorized('POST /cookies', [status], [type], body);
    },
  ],
  [
    5,
    ({ random }) =>
      random.pick([
        draft('GET /openapi.json', [200]),
        draft('HEAD /docs', [200]),
        draft('GET /docs/swagger-ui-initializer.js', [200, 404]),
        draft('OPTIONS /cookies', [204]),
        draft('OPTIONS /cookies', [204], PREFLIGHT),
        draft('GET /nothing', [404]),
        draft('PUT /cookies', [405]),
        draft('TRACE /cookies/1', [405]),
      ]),
  ],
];
