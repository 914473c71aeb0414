import type { FastifyRequest } from 'fastify';

/** Largest length of `sub` and `iss`, which are logged: four times the limit of OpenID Connect Core section 2. */
export const LONGEST_NAME = 1024;

export interface Principal {
  readonly subject: string;
  readonly issuer?: string;
  readonly scopes: ReadonlySet<string>;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

/** The tokens of open WebSockets; `Handshakes` sets them. */
export const tokensOfSockets = new WeakMap<object, string>();

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard; absent on public routes. A guard of Passport replaces it by what its strategy returns. */
    user?: Principal;
    /** Set by the guard; absent on public routes. No other guard replaces it. */
    principal?: Principal;
  }
}

/** The principal of a request. On a public route it is the user that another guard has set, which may be of any kind. */
export function principalOf({ principal, user }: Pick<FastifyRequest, 'principal' | 'user'>): Partial<Principal> {
  return principal ?? user ?? {};
}

/** Key of the token's subject; the issuer is part of it. */
export function subjectOf(request: Pick<FastifyRequest, 'principal' | 'user'>): string {
  const { issuer, subject } = principalOf(request);
  return JSON.stringify([issuer, subject]);
}
