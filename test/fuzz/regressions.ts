import { type Message, messageBytes, type Tokens, utf8 } from './message.js';

/** Requests that once had a wrong response. */
export interface Regression {
  /** The request, the status and the circumstance. */
  readonly name: string;
  readonly messages: readonly Message[];
  /** Allowed sequences of statuses. */
  readonly statuses: readonly (readonly number[])[];
  readonly end?: 'wait' | 'half-close';
  /** Whether it is sent to the management port. */
  readonly isForManagement?: boolean;
}

const JSON_TYPE = 'Content-Type: application/json';
const CLOSE = 'Connection: close';
const EMPTY_ID = '9007199254740991';

let messages = 0;

/** Cases with unique ids and wishes. */
export function regressions({ both }: Tokens): Regression[] {
  const bearer = `Authorization: Bearer ${both}`;
  const id = (): string => `case${(messages += 1)}`;
  const valid = (method: string, target: string, expected: number[], more: string[] = [], body?: string): Message => {
    const parts = { id: id(), method, target, headers: [bearer, ...more], body };
    return { id: parts.id, method, expected, bytes: messageBytes(parts) };
  };
  const post = (): Message => {
    const wish = `of case${messages + 1}`;
    return valid('POST', '/cookies', [201], [JSON_TYPE], utf8(`{"flavor":"vanilla","size":"small","wish":"${wish}"}`));
  };
  const get = (): Message => valid('GET', `/cookies/${EMPTY_ID}`, [404]);
  const upgrading = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];
  const upgrade = (method: string, body?: string): Message => valid(method, '/nothing', [404], upgrading, body);
  /** A malformed request. `ID` stands for its id. */
  const raw = (bytes: string): Message => {
    const own = id();
    return { id: own, method: bytes.split(' ')[0]!, bytes: bytes.replaceAll('ID', own) };
  };
  // Each request is the last of its connection: the case ends when the service closes it.
  const postLine = `POST /cookies HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ID\r\n${bearer}\r\n${JSON_TYPE}\r\n${CLOSE}\r\n`;
  const getLine = `GET /cookies/${EMPTY_ID} HTTP/1.1\r\n${bearer}\r\nX-Request-Id: ID\r\n${CLOSE}\r\n`;
  const chunks = '2\r\n{}\r\n0\r\n\r\n';
  const tooLarge = valid('POST', '/cookies', [413], [JSON_TYPE], ' '.repeat(16_385));
  const keptAlive = postLine.replace('HTTP/1.1', 'HTTP/1.0').replace('close', 'keep-alive');
  const brokenChunks = `${postLine}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;

  const close = `${CLOSE}\r\n`;
  const noRequest = (): Message => raw('what is this\r\n\r\n');
  const posts = (): Message[] => [post(), post(), post()];
  const half = 'although the client says right behind them that nothing will follow';

  return [
    sequence(
      'POST with a body that is too large is 413, with CONNECT behind it in the same packet',
      [tooLarge, raw('CONNECT a:1 HTTP/1.1\r\nX-Request-Id: ID\r\n\r\n')],
      [[413], [413, 405]],
    ),
    sequence('POST is 201 and the broken chunked POST behind it is 400', [post(), raw(brokenChunks)], [[201, 400]]),
    sequence(
      'POST is 201 and CONNECT behind it in the same packet is 405',
      [post(), raw('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nX-Request-Id: ID\r\n\r\n')],
      [[201, 405]],
    ),
    sequence('three POST are 201 and what is no request is 400', [...posts(), noRequest()], [[201, 201, 201, 400]]),
    sequence(
      'HEAD and GET are answered and a header field without a colon behind them is 400',
      [valid('HEAD', '/cookies', [200]), get(), raw(`${getLine}Host: cookies\r\nno colon\r\n\r\n`)],
      [[200, 404, 400]],
    ),
    sequence(`POST is 201 ${half}`, [post()], [[201]], 'half-close'),
    sequence(
      `twelve GET and POST are answered ${half}`,
      [...Array.from({ length: 12 }, get), post()],
      [[...Array<number>(12).fill(404), 201]],
      'half-close',
    ),
    sequence(
      `three POST are 201 and what is no request is 400 ${half}`,
      [...posts(), noRequest()],
      [[201, 201, 201, 400]],
      'half-close',
    ),
    sequence(
      `POST is 201 and the broken chunked POST behind it is 400 ${half}`,
      [post(), raw(brokenChunks)],
      [[201, 400]],
      'half-close',
    ),
    sequence(
      'GET with two Hosts is the last of its connection, though GET and something that is no request follow',
      [raw(`${getLine.replace(close, '')}Host: a\r\nHost: b\r\n\r\n`), get(), noRequest()],
      [[400]],
      'half-close',
    ),
    sequence(
      'GET with Connection: close is the last of its connection, though something that is no request follows',
      [valid('GET', `/cookies/${EMPTY_ID}`, [404], [CLOSE]), noRequest()],
      [[404]],
      'half-close',
    ),
    single(
      'POST in chunks that are too large together, with a broken chunk behind them, is rejected once',
      raw(`${postLine}Transfer-Encoding: chunked\r\n\r\n5000\r\n${' '.repeat(0x5000)}\r\nzz\r\n`),
      [413, 400],
    ),
    sequence(
      'chunked HTTP/1.0 closes the connection, so that nothing behind it is taken for a request',
      [raw(`${keptAlive}Transfer-Encoding: chunked\r\n\r\n${chunks}`), raw(`${getLine}Host: cookies\r\n\r\n`)],
      [[400], [401], [411], [501]],
    ),
    ...['HTTP/2.0', 'RTSP/1.0'].map((version) =>
      single(
        `GET with ${version} is 505 or 400`,
        raw(`${getLine.replace('HTTP/1.1', version)}Host: cookies\r\n\r\n`),
        [505, 400],
      ),
    ),
    ...['a b', '[::1', 'user@cookies', '\xff'].map((host) =>
      single(`GET with the Host ${JSON.stringify(host)} is 400`, raw(`${getLine}Host: ${host}\r\n\r\n`), [400]),
    ),
    single(
      'DELETE whose If-Match comes behind 2000 other header fields is 431 and deletes nothing',
      raw(
        `DELETE /cookies/1 HTTP/1.1\r\nHost: cookies\r\n${bearer}\r\n${close}${'a:b\r\n'.repeat(2000)}If-Match: "never"\r\n\r\n`,
      ),
      [431],
    ),
    single('TRACE /cookies/ is 404 like any unknown path', valid('TRACE', '/cookies/', [404], [CLOSE]), [404]),
    sequence(
      'GET with an Upgrade, which is ignored, is the last of its connection, though another like it follows',
      [upgrade('GET'), upgrade('GET')],
      [[404]],
    ),
    sequence(
      'POST with an Upgrade and a body is the last of its connection, though GET follows',
      [upgrade('POST', '{}'), get()],
      [[404]],
    ),
    sequence(
      'GET with an Upgrade behind three POST is the last of its connection',
      [...posts(), upgrade('GET'), post()],
      [[201, 201, 201, 404]],
    ),
    single(
      'GET whose Expect comes twice is answered like one whose Expect comes once',
      valid('GET', '/nothing', [404], [CLOSE, 'Expect: 100-continue', 'Expect: 100-Continue']),
      [404],
    ),
    sequence(
      // 401 where the end of the connection comes after the check of the token.
      'POST with an Upgrade whose body does not come whole is 400 or 401',
      [raw(`${postLine.replace(CLOSE, 'Connection: Upgrade\r\nUpgrade: h2c')}Content-Length: 9\r\n\r\n{`)],
      [[400], [401]],
      'half-close',
    ),
    single(
      'OPTIONS with an empty Origin is answered in the one shape',
      raw(
        `OPTIONS /cookies HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ID\r\n${close}Origin: \r\nAccess-Control-Request-Method: \r\n\r\n`,
      ),
      [204, 400],
    ),
    {
      ...single(
        'a header field without a colon is 400 in the one shape on the management port',
        raw('GET /health/live HTTP/1.1\r\nHost: cookies\r\nno colon\r\n\r\n'),
        [400],
      ),
      isForManagement: true,
    },
    {
      ...single(
        'CONNECT is 405 in the one shape on the management port',
        raw('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'),
        [405],
      ),
      isForManagement: true,
    },
  ];
}

function sequence(
  name: string,
  messages: readonly Message[],
  statuses: Regression['statuses'],
  end?: Regression['end'],
): Regression {
  return { name, messages, statuses, end };
}

/** One request that may have one of these statuses. */
function single(name: string, message: Message, statuses: readonly number[]): Regression {
  return sequence(
    name,
    [message],
    statuses.map((status) => [status]),
  );
}
