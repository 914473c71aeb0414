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
    /** Set by the guard; absent on public routes. */
    user?: Principal;
  }
}

/** Key of the token's subject; the issuer is part of it. */
export function subjectOf({ user }: Pick<FastifyRequest, 'user'>): string {
  return JSON.stringify([user?.issuer, user?.subject]);
}
