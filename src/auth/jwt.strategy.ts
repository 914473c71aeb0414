import type { Server } from 'node:http';
import { PassportStrategy } from '@nestjs/passport';
import type { FastifyRequest } from 'fastify';
import { Strategy } from 'passport-jwt';
import type { Principal } from './principal.js';
import { tokenOf, type TokenVerifier } from './token-verifier.js';

/** The verifiers by server: passport has one registry of strategies for all applications of the process. */
const verifiers = new WeakMap<Server, TokenVerifier>();

/** The verifier of the last application, for requests without a server. */
let last: TokenVerifier | undefined;

/** Lets `AuthGuard('jwt')` verify the tokens of an application. @param server absent in an application context */
export function verifyWith(verifier: TokenVerifier, server?: Server): void {
  last = verifier;
  if (server) verifiers.set(server, verifier);
}

/** The strategy of `AuthGuard('jwt')` in any module, with jose, because jsonwebtoken lacks EdDSA and ignores `crit`. */
class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor() {
    super({ jwtFromRequest: tokenOf as never, secretOrKeyProvider: () => undefined });
  }

  override authenticate(request: unknown): void {
    // A request of Node, such as a handshake, has no server.
    const { server, headers } = request as Pick<FastifyRequest, 'headers'> & Partial<Pick<FastifyRequest, 'server'>>;
    const verifier = (server && verifiers.get(server.server)) ?? last!;
    verifier.authenticate({ headers }).then(
      (principal) => this.success(principal),
      (error: Error) => this.error(error),
    );
  }

  /** Required by `PassportStrategy`, but unused: `authenticate` does all the work. */
  validate(principal: Principal): Principal {
    return principal;
  }
}

// Not a provider: Nest would make it after a team's own strategy of this name, and so replace that one silently.
new JwtStrategy();
