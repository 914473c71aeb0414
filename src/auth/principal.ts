/** Who a verified token speaks for, and what it allows. */
export interface Principal {
  readonly subject: string;
  readonly issuer?: string;
  readonly scopes: ReadonlySet<string>;
  /** Seconds since 1970. */
  readonly expiresAt: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the guard; absent on public routes. */
    user?: Principal;
  }
}
