import type { Mutant } from './program/mutant.js';

const AUTH = ['test/auth/auth.e2e-spec.ts'];
const CACHE = ['src/auth/token-cache.spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'lifetime-is-counted-in-milliseconds',
    file: 'src/auth/token-verifier.ts',
    replace: 'exp - Date.now() / 1000 <=',
    by: 'exp - Date.now() <=',
    breaks: 'A token that expires later than JWT_MAX_LIFETIME seconds from now is 401.',
    specs: AUTH,
  },
  {
    id: 'clock-skew-is-half-an-hour',
    file: 'src/auth/token-verifier.ts',
    replace: 'const CLOCK_SKEW = 30;',
    by: 'const CLOCK_SKEW = 1800;',
    breaks: 'A token that expired a minute ago is 401.',
    specs: AUTH,
  },
  {
    id: 'audience-is-not-asked-for',
    file: 'src/auth/token-verifier.ts',
    replace: '        audience,\n',
    by: '',
    breaks: 'A token for another audience is 401.',
    specs: AUTH,
  },
  {
    id: 'issuer-is-not-asked-for',
    file: 'src/auth/token-verifier.ts',
    replace: '        issuer,\n',
    by: '',
    breaks: 'A token of another issuer is 401.',
    specs: AUTH,
  },
  {
    id: 'tokens-without-scopes-may-read',
    file: 'src/auth/token-verifier.ts',
    replace: 'if (!Array.isArray(claim)) return [];',
    by: "if (!Array.isArray(claim)) return ['cookies:read'];",
    breaks: 'A token without scopes is 403.',
    specs: AUTH,
  },
  {
    id: 'verified-tokens-are-not-cached',
    file: 'src/auth/token-verifier.ts',
    replace: '    this.verified.set(token, principal);\n',
    by: '',
    breaks: 'A token is verified once, and then found in the cache.',
    specs: [...AUTH, ...CACHE],
  },
  {
    id: 'expired-tokens-stay-cached',
    file: 'src/auth/token-cache.ts',
    replace: 'principal.expiresAt * 1000 > Date.now()',
    by: 'principal.expiresAt * 1000 > 0',
    breaks: 'A cached token is 401 as soon as it has expired.',
    specs: [...AUTH, ...CACHE],
  },
  {
    id: 'cache-counts-tokens-not-bytes',
    file: 'src/auth/token-cache.ts',
    replace: 'ENTRY + Math.ceil(CHARACTER * token.length) + SCOPE * scopes.size',
    by: 'ENTRY + SCOPE * scopes.size',
    breaks: 'The cache of tokens is bounded in bytes.',
    specs: CACHE,
  },
  {
    id: 'any-padding-is-the-same-token',
    file: 'src/auth/token-verifier.ts',
    replace: '      requireCanonical(token);\n',
    by: '',
    breaks: 'A changed text of a token is 401, even where decoders ignore the change.',
    specs: AUTH,
  },
  {
    id: 'tokens-for-other-purposes-pass',
    file: 'src/auth/token-form.ts',
    replace: 'typ !== undefined && !TYPES.has(mediaSubtype(typ))',
    by: "typeof typ === 'number' && !TYPES.has(mediaSubtype(typ))",
    breaks: 'A token whose `typ` is neither JWT nor at+jwt is 401 (RFC 8725 section 3.11).',
    specs: AUTH,
  },
  {
    id: 'one-scope-is-enough',
    file: 'src/auth/jwt-auth.guard.ts',
    replace: '!access.every((scope)',
    by: '!access.some((scope)',
    breaks: 'A route wants all of its scopes.',
    specs: [...AUTH, 'test/resource/feature-errors.e2e-spec.ts', 'test/http/validation.e2e-spec.ts'],
  },
  {
    id: 'routes-without-scopes-are-open',
    file: 'src/auth/jwt-auth.guard.ts',
    replace: 'access.length === 0 || ',
    by: '',
    breaks: 'A route without @Scopes() is 403.',
    specs: AUTH,
  },
  {
    id: 'made-up-secret-is-readable-by-others',
    file: 'src/auth/token-key.ts',
    replace: ', { mode: PRIVATE_FILE });',
    by: ', { mode: 0o644 });',
    breaks: 'The file of the made-up secret is readable by its owner alone.',
    specs: ['test/database/private-files.e2e-spec.ts', ...AUTH],
  },
];

export default mutants;
