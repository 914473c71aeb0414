import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Principal } from './principal.js';
import { TokenCache } from './token-verifier.js';

/** Bytes: far more than other allocations during the test. */
const BOUND = 4 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes of the heap that are in use. */
function heapUsed(): number {
  for (let round = 0; round < 3; round++) collectGarbage();
  return process.memoryUsage().heapUsed;
}

const later = Math.floor(Date.now() / 1000) + 3600;

/** A token sliced from a header field, and the principal parsed from its claims. */
function entry(index: number, scope: unknown, padding = 0): [token: string, principal: Principal] {
  const claims = JSON.stringify({ sub: `subject-${index}`, iss: 'https://login.example.com/', scope });
  const text = `Bearer ${Buffer.from(claims).toString('base64url')}.${'p'.repeat(padding)}.${String(index).padStart(43, 's')}`;
  const field = Buffer.from(text).toString('latin1');
  const { sub, iss, scope: parsed } = JSON.parse(claims) as { sub: string; iss: string; scope: string | string[] };
  const scopes = new Set(typeof parsed === 'string' ? parsed.split(' ') : parsed);
  return [field.slice(7), { subject: sub, issuer: iss, scopes, expiresAt: later }];
}

const numbered = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`);

describe('the cache of verified tokens', () => {
  it.each<[what: string, make: (index: number) => [string, Principal]]>([
    ['with short claims', (index) => entry(index, 'r')],
    ['of common size', (index) => entry(index, 'cookies:read cookies:write', 200)],
    ['with a long signature', (index) => entry(index, 'cookies:read', 3000)],
    ['with 100 scopes in a string', (index) => entry(index, numbered(100, 'a-scope-of-some-length-').join(' '))],
    ['with 100 scopes in an array', (index) => entry(index, numbered(100, 'a-scope-of-some-length-'))],
    ['with 150 scopes of few characters', (index) => entry(index, numbered(150, '').join(' '))],
    ['with claims beyond Latin-1', (index) => entry(index, `${numbered(100, 'scope-of-length-').join(' ')} 🍪`)],
  ])('takes no more of the heap than its bound for tokens %s', (_what, make) => {
    const cache = new TokenCache(BOUND);
    const before = heapUsed();
    let index = 0;
    // Some hundred entries more than fit, so that the oldest are evicted.
    for (let tooMany = 0; tooMany < 300; index++) {
      const bytes = cache.bytes;
      cache.set(...make(index));
      if (cache.bytes <= bytes) tooMany++;
    }
    const taken = heapUsed() - before;
    expect(cache.bytes).toBeLessThanOrEqual(BOUND);
    expect(cache.bytes).toBeGreaterThan(0.9 * BOUND);
    expect(taken).toBeLessThanOrEqual(BOUND);
    // The estimate is not far too high.
    expect(taken).toBeGreaterThan(BOUND / 5);
    expect(cache.get(make(0)[0])).toBeUndefined();
    expect(cache.get(make(index - 1)[0])).toMatchObject({ subject: `subject-${index - 1}` });
  });

  it('evicts the least recently used tokens', () => {
    const cache = new TokenCache(BOUND);
    const [used, principal] = entry(0, 'cookies:read');
    cache.set(used, principal);
    for (let index = 1; index < 10_000; index++) {
      cache.set(...entry(index, 'cookies:read'));
      if (cache.get(used) !== principal) throw new Error(`Lost after ${index} others`);
    }
    expect(cache.get(entry(1, 'cookies:read')[0])).toBeUndefined();
  });

  it.each<[what: string, [string, Principal]]>([
    ['is very long', entry(1, 'cookies:read', 10_000)],
    ['has very many scopes', entry(1, numbered(1000, ''))],
  ])('does not cache a token that %s, and keeps the others', (_what, [token, principal]) => {
    const cache = new TokenCache(BOUND);
    cache.set(...entry(0, 'cookies:read'));
    cache.set(token, principal);
    expect(cache.get(token)).toBeUndefined();
    expect(cache.get(entry(0, 'cookies:read')[0])).toMatchObject({ subject: 'subject-0' });
  });

  it('forgets a token that has expired', () => {
    const cache = new TokenCache(BOUND);
    const [token, principal] = entry(0, 'cookies:read');
    cache.set(token, { ...principal, expiresAt: Date.now() / 1000 - 1 });
    expect(cache.get(token)).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });
});
