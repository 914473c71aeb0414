import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-jwt';
import type { Principal } from './principal.js';
import { tokenOf, TokenVerifier } from './token-verifier.js';

/**
 * The strategy of `@UseGuards(AuthGuard('jwt'))` in any module: passport-jwt with jose as its verifier, because its own
 * jsonwebtoken lacks EdDSA and ignores `crit`.
 */
@Injectable()
export class JwtStrategy extends PassportStrategy(Strategy, 'jwt') {
  constructor(private readonly verifier: TokenVerifier) {
    super({ jwtFromRequest: tokenOf as never, secretOrKeyProvider: () => undefined });
  }

  override authenticate(request: Parameters<TokenVerifier['authenticate']>[0]): void {
    this.verifier.authenticate(request).then(
      (principal) => this.success(principal),
      (error: Error) => this.error(error),
    );
  }

  /** Required by `PassportStrategy`, but unused: `authenticate` does all the work. */
  validate(principal: Principal): Principal {
    return principal;
  }
}
