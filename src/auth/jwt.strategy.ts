import { randomUUID } from 'node:crypto';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import passport from 'passport';
import { Strategy } from 'passport-jwt';
import { InvalidTokenError } from './auth-errors.js';
import type { Principal } from './principal.js';
import { TokenVerifier } from './token-verifier.js';

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const BEARER = /^Bearer +(?=\S)/i;

/**
 * The token in `Authorization`: what follows `Bearer`, with the scheme in any case, or a bare token, which the
 * specification allows too. `null` when the field has neither.
 */
export function tokenOf({ headers: { authorization = '' } }: FastifyRequest): string | null {
  const scheme = BEARER.exec(authorization)?.[0];
  if (scheme !== undefined) return authorization.slice(scheme.length);
  return COMPACT_JWS.test(authorization) ? authorization : null;
}

/**
 * passport-jwt with jose as its verifier: jsonwebtoken, which it brings, knows no EdDSA and ignores `crit`, and a key
 * that could not be fetched would count as a wrong token.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy) implements OnModuleDestroy {
  /** passport's registry is one for the whole process; applications in it must not find each other's strategies. */
  readonly registeredName = `jwt-${randomUUID()}`;

  constructor(private readonly verifier: TokenVerifier) {
    super({ jwtFromRequest: tokenOf as never, secretOrKeyProvider: () => undefined });
    passport.use(this.registeredName, this);
  }

  onModuleDestroy(): void {
    passport.unuse(this.registeredName);
  }

  override authenticate(request: unknown): void {
    const token = tokenOf(request as FastifyRequest);
    if (token === null) return this.fail(401);
    this.verifier.verify(token).then(
      (principal) => this.success(principal),
      (error: Error) => (error instanceof InvalidTokenError ? this.fail(error, 401) : this.error(error)),
    );
  }

  validate(principal: Principal): Principal {
    return principal;
  }

  /** Nest would register it under the name of its class, too. */
  protected getPassportInstance(): unknown {
    return new passport.Passport();
  }
}
