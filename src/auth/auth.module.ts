import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { Config } from '../config/config.js';
import { Handshakes } from './handshakes.js';
import { JwtAuthGuard } from './jwt-auth.guard.js';
import { JwtStrategy } from './jwt.strategy.js';
import { RevokedTokens } from './revoked-tokens.js';
import { signingOptions } from './token-key.js';
import { TokenVerifier } from './token-verifier.js';

/** Authentication. Any module can inject `JwtService`, which signs tokens for this service if it has a secret. */
@Module({
  imports: [
    PassportModule.register({ defaultStrategy: 'jwt' }),
    JwtModule.registerAsync({ global: true, inject: [Config], useFactory: signingOptions }),
  ],
  providers: [
    RevokedTokens,
    TokenVerifier,
    JwtStrategy,
    Handshakes,
    JwtAuthGuard,
    // Not `useClass`: `overrideProvider(JwtAuthGuard)` in a test would not replace it.
    { provide: APP_GUARD, useExisting: JwtAuthGuard },
  ],
})
export class AuthModule {}
