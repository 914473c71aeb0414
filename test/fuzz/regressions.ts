import { type Message, messageBytes, type Tokens, utf8 } from './message.js';

/** Requests that once had a wrong response. */
export interface Regression {
  /** The request, the status and the circumstance. */
  readonly name: string;
  readonly messages: readonly Message[];
  /** Allowed sequences of statuses. */
  readonly statuses: readonly (readonly number[])[];
  readonly errorCode?: string;
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
  const valid = (
    method: string,
    target: string,
    expected: number[],
    headers: string[] = [],
    body?: string,
  ): Message => {
    const own = id();
    return {
      id: own,
      method,
      expected,
      bytes: messageBytes({ id: own, method, target, headers: [bearer, ...headers], body }),
    };
  };
  const post = (): Message => {
    const wish = `of case${messages + 1}`;
    return valid('POST', '/cookies', [201], [JSON_TYPE], utf8(`{"flavor":"vanilla","size":"small","wish":"${wish}"}`));
  };
  const get = (): Message => valid('GET', `/cookies/${EMPTY_ID}`, [404]);
  const upgrade = (method: string, body?: string): Message =>
    valid(
      method,
      '/nothing',
      [404],
      ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'],
      body,
    );
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
  const brokenChunks = `${postLine}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;

  return [
    {
      name: 'POST with a body that is too large is 413, with CONNECT behind it in the same packet',
      messages: [tooLarge, raw('CONNECT a:1 HTTP/1.1\r\nX-Request-Id: ID\r\n\r\n')],
      statuses: [[413], [413, 405]],
    },
    {
      name: 'POST is 201 and the broken chunked POST behind it in the same packet is 400',
      messages: [post(), raw(brokenChunks)],
      statuses: [[201, 400]],
    },
    {
      name: 'POST is 201 and CONNECT behind it in the same packet is 405',
      messages: [post(), raw('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nX-Request-Id: ID\r\n\r\n')],
      statuses: [[201, 405]],
    },
    {
      name: 'three POST are 201 and the request line that is none behind them in the same packet is 400',
      messages: [post(), post(), post(), raw('what is this\r\n\r\n')],
      statuses: [[201, 201, 201, 400]],
    },
    {
      name: 'HEAD and GET are answered and a header field without a colon behind them is 400',
      messages: [valid('HEAD', '/cookies', [200]), get(), raw(`${getLine}Host: cookies\r\nno colon\r\n\r\n`)],
      statuses: [[200, 404, 400]],
    },
    {
      name: 'POST is 201 although the client says right behind it that nothing will follow',
      messages: [post()],
      end: 'half-close',
      statuses: [[201]],
    },
    {
      name: 'twelve GET and POST are answered although the client says right behind them that nothing will follow',
      messages: [...Array.from({ length: 12 }, get), post()],
      end: 'half-close',
      statuses: [[...Array<number>(12).fill(404), 201]],
    },
    {
      name: 'three POST are 201 and the request line that is none is 400 although the client says that nothing will follow',
      messages: [post(), post(), post(), raw('what is this\r\n\r\n')],
      end: 'half-close',
      statuses: [[201, 201, 201, 400]],
    },
    {
      name: 'POST is 201 and the broken chunked POST behind it is 400 although the client says that nothing will follow',
      messages: [post(), raw(brokenChunks)],
      end: 'half-close',
      statuses: [[201, 400]],
    },
    {
      name: 'GET with two Hosts is the last of its connection, though GET and something that is no request follow',
      messages: [
        raw(`${getLine.replace(`${CLOSE}\r\n`, '')}Host: a\r\nHost: b\r\n\r\n`),
        get(),
        raw('what is this\r\n\r\n'),
      ],
      end: 'half-close',
      statuses: [[400]],
    },
    {
      name: 'GET with Connection: close is the last of its connection, though something that is no request follows',
      messages: [valid('GET', `/cookies/${EMPTY_ID}`, [404], [CLOSE]), raw('what is this\r\n\r\n')],
      end: 'half-close',
      statuses: [[404]],
    },
    {
      name: 'POST in chunks that are too large together, with a broken chunk behind them, is rejected once',
      messages: [raw(`${postLine}Transfer-Encoding: chunked\r\n\r\n5000\r\n${' '.repeat(0x5000)}\r\nzz\r\n`)],
      statuses: [[413], [400]],
    },
    {
      name: 'POST with Transfer-Encoding gzip is 501',
      messages: [raw(`${postLine}Transfer-Encoding: gzip\r\n\r\n`)],
      statuses: [[501]],
    },
    {
      name: 'POST with Transfer-Encoding gzip, chunked is 501',
      messages: [raw(`${postLine}Transfer-Encoding: gzip, chunked\r\n\r\n${chunks}`)],
      statuses: [[501]],
    },
    {
      name: 'chunked HTTP/1.0 closes the connection, so that nothing behind it is taken for a request',
      messages: [
        raw(
          `${postLine.replace('HTTP/1.1', 'HTTP/1.0').replace('close', 'keep-alive')}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
        ),
        raw(`${getLine}Host: cookies\r\n\r\n`),
      ],
      statuses: [[400], [411], [501]],
    },
    {
      name: 'SOURCE of another protocol is 505 or 400',
      messages: [raw('SOURCE /x ICE/1.0\r\nHost: cookies\r\nX-Request-Id: ID\r\n\r\n')],
      statuses: [[505], [400]],
    },
    ...['HTTP/2.0', 'RTSP/1.0', 'HTTP/3.0'].map((version) => ({
      name: `GET with ${version} is 505 or 400`,
      messages: [raw(`${getLine.replace('HTTP/1.1', version)}Host: cookies\r\n\r\n`)],
      statuses: [[505], [400]],
    })),
    ...['a b', '[::1', 'user@cookies', 'cookies/1', 'cookies:port', 'a\r\nHost: b', '\xff'].map((host) => ({
      name: `GET with the Host ${JSON.stringify(host)} is 400`,
      messages: [raw(`${getLine}Host: ${host}\r\n\r\n`)],
      statuses: [[400]],
    })),
    {
      name: 'GET with 2001 header fields is 431',
      messages: [raw(`${getLine}Host: cookies\r\n${'a:b\r\n'.repeat(2001)}\r\n`)],
      statuses: [[431]],
    },
    {
      name: 'DELETE whose If-Match comes behind 2000 other header fields is 431 and deletes nothing',
      messages: [
        raw(
          `DELETE /cookies/1 HTTP/1.1\r\nHost: cookies\r\n${bearer}\r\n${CLOSE}\r\n${'a:b\r\n'.repeat(2000)}If-Match: "never"\r\n\r\n`,
        ),
      ],
      statuses: [[431]],
    },
    ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'].map((method) => ({
      name: `${method} /cookies/ is 404 like any unknown path`,
      messages: [valid(method, '/cookies/', [404], [CLOSE])],
      statuses: [[404]],
    })),
    {
      name: 'GET with an Upgrade, which is ignored, is the last of its connection, though another like it follows',
      messages: [upgrade('GET'), upgrade('GET')],
      statuses: [[404]],
    },
    {
      name: 'POST with an Upgrade and a body is the last of its connection, though GET follows',
      messages: [upgrade('POST', '{}'), get()],
      statuses: [[404]],
    },
    {
      name: 'GET with an Upgrade behind three POST is the last of its connection',
      messages: [post(), post(), post(), upgrade('GET'), post()],
      statuses: [[201, 201, 201, 404]],
    },
    {
      name: 'GET whose Expect comes twice is answered like one whose Expect comes once',
      messages: [valid('GET', '/nothing', [404], [CLOSE, 'Expect: 100-continue', 'Expect: 100-Continue'])],
      statuses: [[404]],
    },
    {
      name: 'POST with an Upgrade whose body does not come whole is 400',
      messages: [raw(`${postLine.replace(CLOSE, 'Connection: Upgrade\r\nUpgrade: h2c')}Content-Length: 9\r\n\r\n{`)],
      end: 'half-close',
      statuses: [[400]],
    },
    {
      name: 'OPTIONS with an empty Origin is answered in the one shape',
      messages: [
        raw(
          `OPTIONS /cookies HTTP/1.1\r\nHost: cookies\r\nX-Request-Id: ID\r\n${CLOSE}\r\nOrigin: \r\nAccess-Control-Request-Method: \r\n\r\n`,
        ),
      ],
      statuses: [[204], [400]],
    },
    {
      name: 'GET with an expectation that is not known is 417, and only once',
      messages: [raw(`${postLine}Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}`)],
      statuses: [[417]],
    },
    {
      name: 'a header field without a colon is 400 in the one shape on the management port',
      messages: [raw('GET /health/live HTTP/1.1\r\nHost: cookies\r\nno colon\r\n\r\n')],
      statuses: [[400]],
      isForManagement: true,
    },
    {
      name: 'CONNECT is 405 in the one shape on the management port',
      messages: [raw('CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n')],
      statuses: [[405]],
      isForManagement: true,
    },
  ];
}
