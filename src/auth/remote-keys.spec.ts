import { generateKeyPairSync } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import type { CryptoKey } from 'jose';
import { startServer } from '../../test/support/local-server.js';
import { shared } from '../../test/support/shared.js';
import { RemoteKeys } from './remote-keys.js';

const ES256 = { alg: 'ES256', kid: 'key' };
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const KEYS = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key' }] };

const json =
  (value: unknown): RequestListener =>
  (_request, response) =>
    response.end(JSON.stringify(value));

/** Reads all candidates, or the first `most`. */
async function taken(candidates: AsyncIterable<CryptoKey>, most = Infinity): Promise<CryptoKey[]> {
  const keys: CryptoKey[] = [];
  for await (const key of candidates) if (keys.push(key) >= most) break;
  return keys;
}

describe('the keys of a provider', () => {
  let listener: RequestListener;
  let issuer: string;
  let keys: RemoteKeys;
  const server = shared(() => startServer((request, response) => listener(request, response)));

  beforeAll(() => {
    Logger.overrideLogger(false);
    issuer = server.url;
  });

  afterEach(() => keys.stop());

  const remoteKeys = (uri?: URL, mostWaiting = Infinity) => new RemoteKeys(issuer, uri, () => {}, mostWaiting);

  /** Responds with 64 KB at a time, until the client has enough. */
  function endless(response: ServerResponse): void {
    const chunk = ' '.repeat(65_536);
    const send = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', send);
    send();
  }

  it.each<[what: string, listener: RequestListener, reason: string | RegExp]>([
    ['no JSON', (_request, response) => response.end('<html>'), /\/keys: .* not valid JSON/],
    ['keys without a type', json({ keys: [{}] }), 'no valid public key'],
    ['a secret alone', json({ keys: [{ kty: 'oct', k: 'AAAA', kid: 'key' }] }), 'no valid public key'],
    ['a key without a modulus', json({ keys: [{ kty: 'RSA', kid: 'key' }] }), 'no valid public key'],
    ['more than 256 KB', (_request, response) => endless(response), 'more than 262144 bytes'],
    ['500', (_request, response) => response.writeHead(500).end(), '/keys: the response is 500'],
    [
      'a redirect',
      ({ url }, response) =>
        url === '/keys' ? response.writeHead(302, { location: '/moved' }).end() : response.end(JSON.stringify(KEYS)),
      '/keys: the response is 302',
    ],
    ['a part, and then nothing', (_request, response) => response.write('{'), /\/keys: .* due to timeout/],
  ])('are 503 if the key set is %s', async (_what, first, reason) => {
    let loads = 0;
    listener = (request, response) => {
      loads++;
      return first(request, response);
    };
    keys = remoteKeys(new URL(`${issuer}/keys`));
    keys.start();
    const error = await taken(keys.candidates(ES256)).catch((caught: unknown) => caught);
    expect(loads).toBe(1);
    expect(error).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-5]$/) } });
    expect((error as { cause: Error }).cause.message).toMatch(reason);
  });

  it.each<[what: string, document: () => unknown, reason: string]>([
    ['names another issuer', () => ({ issuer: `${issuer}/other`, jwks_uri: `${issuer}/keys` }), 'another issuer'],
    ['names a key set without TLS', () => ({ issuer, jwks_uri: 'http://192.0.2.1/keys' }), 'must be an https: URL'],
    ['is a file of this machine', () => ({ issuer, jwks_uri: 'file:///etc/passwd' }), 'must be an https: URL'],
  ])('are 503 if the discovery document %s', async (_what, document, reason) => {
    listener = (request, response) => json(request.url === '/keys' ? KEYS : document())(request, response);
    keys = remoteKeys();
    const error = await taken(keys.candidates(ES256)).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ status: 503, cause: { message: expect.stringContaining(reason) } });
  });

  it('are loaded from their new address when the provider has moved them', async () => {
    let path = '/keys';
    listener = ({ url }, response) => {
      if (url === path) response.end(JSON.stringify(KEYS));
      else if (url?.startsWith('/.well-known/')) response.end(JSON.stringify({ issuer, jwks_uri: issuer + path }));
      else response.writeHead(404).end();
    };
    keys = remoteKeys();
    expect(await taken(keys.candidates(ES256), 1)).toHaveLength(1);
    path = '/moved';
    expect(await taken(keys.candidates({ ...ES256, kid: 'new' }))).toEqual([]);
  }, 30_000);

  it('are requested as JSON, like the discovery document, and may begin with a byte-order mark', async () => {
    const accepted: unknown[] = [];
    listener = ({ url, headers }, response) => {
      accepted.push(headers.accept);
      const document = url === '/keys' ? KEYS : { issuer, jwks_uri: `${issuer}/keys` };
      response.end(`\uFEFF${JSON.stringify(document)}`);
    };
    keys = remoteKeys();
    expect(await taken(keys.candidates(ES256), 1)).toHaveLength(1);
    expect(accepted).toEqual(Array.from({ length: 2 }, () => 'application/json, application/jwk-set+json'));
  });

  it('are loaded 5 s after a failed load, without a token', async () => {
    listener = (_request, response) => response.writeHead(500).end();
    keys = remoteKeys(new URL(`${issuer}/keys`));
    keys.start();
    await expect(taken(keys.candidates(ES256))).rejects.toMatchObject({ status: 503 });
    const isLoaded = new Promise((resolve) => {
      listener = (request, response) => resolve(json(KEYS)(request, response));
    });
    await isLoaded;
    expect(await taken(keys.candidates(ES256), 1)).toHaveLength(1);
  }, 30_000);

  it('stay known when the provider sends no valid key set any more', async () => {
    listener = json(KEYS);
    keys = remoteKeys(new URL(`${issuer}/keys`));
    expect(await taken(keys.candidates(ES256))).toHaveLength(1);
    listener = json({ keys: [] });
    await expect(taken(keys.candidates({ ...ES256, kid: 'new' }))).rejects.toMatchObject({ status: 503 });
    expect(await taken(keys.candidates(ES256), 1)).toHaveLength(1);
  });

  it('limit the requests that wait for them; further requests are 503, and known keys keep working', async () => {
    listener = json(KEYS);
    keys = remoteKeys(new URL(`${issuer}/keys`), 2);
    const unknown = (): Promise<CryptoKey[]> => taken(keys.candidates({ ...ES256, kid: 'unknown' }));
    expect(await taken(keys.candidates(ES256))).toHaveLength(1);
    const waiting = [unknown(), unknown()];
    await expect(unknown()).rejects.toMatchObject({
      status: 503,
      message: expect.stringContaining('Too many requests'),
    });
    expect(await taken(keys.candidates(ES256), 1)).toHaveLength(1);
    expect(await Promise.all(waiting)).toEqual([[], []]);
    expect(await unknown()).toEqual([]);
  }, 30_000);
});
