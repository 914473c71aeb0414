import { generateKeyPairSync } from 'node:crypto';
import { expectError } from '../support/expect-error.js';
import { Client, SECRET, sharedService } from '../support/service.js';
import { claims, encoded, expectInvalidToken, HS256, hmac, jws, list, rsa, unsigned } from './jws.js';

function inBase64(token: string): string {
  const [header, payload, signature] = token.split('.') as [string, string, string];
  return `${header}.${payload}.${Buffer.from(signature, 'base64url').toString('base64')}`;
}

describe('the form of a token and its header field', () => {
  const { service } = sharedService();
  const attacker = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = attacker.publicKey.export({ format: 'jwk' });

  const [header, payload, signature] = jws(HS256, claims()).split('.') as [string, string, string];
  const changed = `${signature.slice(0, 20)}${signature[20] === 'A' ? 'B' : 'A'}${signature.slice(21)}`;

  it.each<[what: string, header: object]>([
    ['without typ', {}],
    ['of typ at+jwt, with a key id', { typ: 'at+jwt', kid: 'x' }],
    ['of typ application/AT+jwt', { typ: 'application/AT+jwt' }],
  ])('a token %s is accepted, from the cache too', async (_what, parameters) => {
    const token = jws({ ...HS256, ...parameters }, claims());
    for (let time = 0; time < 2; time++) expect((await list(service, token)).status).toBe(200);
  });

  it.each<[what: string, header: object]>([
    ['an unencoded payload', { b64: false, crit: ['b64'] }],
    ['its own key (jwk)', { jwk }],
    ['an address of keys (jku)', { jku: 'https://evil.example/jwks' }],
    ['typ id_token', { typ: 'id_token' }],
    ['no alg', { alg: undefined }],
    ['alg hs256', { alg: 'hs256' }],
    ['alg none and a valid signature', { alg: 'none' }],
  ])('a token with %s in its header is 401', async (_what, parameters) => {
    expectInvalidToken(await list(service, jws({ ...HS256, ...parameters }, claims())));
  });

  it.each<[what: string, token: string]>([
    ['that is no JWT', 'abc'],
    ['of two parts', `${header}.${payload}`],
    ['whose header is no JSON', jws('alg', claims())],
    ['whose payload is no JSON', jws(HS256, 'sub=alice')],
    ['whose payload is null', jws(HS256, 'null')],
    ['in the JSON serialization', JSON.stringify({ protected: header, payload, signature })],
    ['whose header is no valid UTF-8', jws(Buffer.from('{"alg":"HS256","kid":"\xff"}', 'latin1'), claims())],
    ['whose payload is no valid UTF-8', jws(HS256, Buffer.from(JSON.stringify(claims({ sub: '\xff' })), 'latin1'))],
    ['whose kid is a file without content', jws({ ...HS256, kid: '../../dev/null' }, claims(), hmac('sha256', ''))],
    ['with another header', `${encoded({ ...HS256, typ: 'x' })}.${payload}.${signature}`],
    ['of alg none', jws({ alg: 'none' }, claims(), unsigned)],
    ['of alg RS256 with its own key', jws({ alg: 'RS256', jwk }, claims(), rsa('sha256', attacker.privateKey))],
    ['that contains another', jws({ ...HS256, cty: 'JWT' }, jws(HS256, claims()))],
    ['with padding after the signature', `${jws(HS256, claims())}=`],
    ['with the signature in base64', inBase64(jws(HS256, claims({ sub: 'bob' })))],
  ])('a token %s is 401', async (_what, token) => {
    expectInvalidToken(await list(service, token));
  });

  it.each<[what: string, token: string, reason: string]>([
    ['without exp', jws(HS256, claims({ exp: undefined })), 'claim "exp"'],
    ['without sub', jws(HS256, claims({ sub: undefined })), 'claim "sub"'],
    ['with critical extensions', jws({ ...HS256, crit: ['b64'], b64: true }, claims()), 'crit'],
    ['that has expired', jws(HS256, claims({ exp: 1 })), 'expired'],
    ['with another signature', jws(HS256, claims(), hmac('sha256', 'other')), 'signature'],
    ['of another algorithm', jws({ alg: 'HS512' }, claims(), hmac('sha512', SECRET)), 'algorithm'],
  ])('the 401 for a token %s says why', async (_what, token, reason) => {
    const answer = await list(service, token);
    expectInvalidToken(answer);
    expect(answer.body.message).toContain(reason);
  });

  it('a changed token is 401 after the original was accepted', async () => {
    expect((await list(service, `${header}.${payload}.${signature}`)).status).toBe(200);
    expectInvalidToken(await list(service, `${header}.${payload}.${changed}`));
    expectInvalidToken(await list(service, `${header}.${encoded(claims({ scope: 'all' }))}.${signature}`));
    expectInvalidToken(await list(service, `${header}.${payload}.`));
  });

  it('the response to a rejected token contains no part of it', async () => {
    const secretive = jws(HS256, claims({ sub: 'mallory-the-secretive', exp: 1 }));
    const { text, headers } = await list(service, secretive);
    for (const place of [text, JSON.stringify([...headers])]) {
      expect(place).not.toContain('mallory');
      expect(place).not.toContain(secretive.split('.')[1]);
    }
  });

  it.each(['Bearer ', 'bEaReR ', ''])('GET /cookies returns 200 with "%s" before the token', async (scheme) => {
    const authorization = `${scheme}${header}.${payload}.${signature}`;
    expect((await Client.bearing(service).get('/cookies', { authorization })).status).toBe(200);
  });

  const valid = `${header}.${payload}.${signature}`;

  it.each<[what: string, headers: Record<string, string>]>([
    ['no field', {}],
    ['another scheme', { authorization: 'Basic YWxpY2U6c2VjcmV0' }],
    ['a valid token in the scheme Token', { authorization: `Token ${valid}` }],
    ['neither scheme nor token', { authorization: 'alice' }],
    ['a token in a cookie', { cookie: `access_token=${valid}` }],
  ])('GET /cookies returns 401 with the bare challenge for %s', async (_what, headers) => {
    const answer = await Client.bearing(service).get('/cookies', headers);
    expectError(answer, 401, 'UNAUTHENTICATED');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="cookies"');
  });

  it.each([
    ['text after the token', `Bearer ${valid} more`],
    ['a second token after a comma', `Bearer ${valid}, Bearer ${valid}`],
    ['nothing between the scheme and the token', `Bearer${valid}`],
    ['text after a token without scheme', `${valid} more`],
  ])('GET /cookies returns 401 for %s', async (_what, authorization) => {
    const answer = await Client.bearing(service).get('/cookies', { authorization });
    expectError(answer, 401, answer.body.errorCode);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer realm="cookies"/);
  });

  it('a token in the query or in a form is 401', async () => {
    const stranger = Client.bearing(service);
    const form = { body: `access_token=${valid}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    expectError(await stranger.get(`/cookies?access_token=${valid}`), 401, 'UNAUTHENTICATED');
    expectError(await stranger.request('POST', '/cookies', form), 401, 'UNAUTHENTICATED');
  });
});
