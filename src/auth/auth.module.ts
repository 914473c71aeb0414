import type { Server } from 'node:http';
import { Module, type OnModuleInit } from '@nestjs/common';
import { type AbstractHttpAdapter, APP_GUARD, HttpAdapterHost } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PassportModule } from '@nestjs/passport';
import { Config } from '../config/config.js';
import { Handshakes } from './handshakes.js';
import { JwtAuthGuard } from './jwt-auth.guard.js';
import { verifyWith } from './jwt.strategy.js';
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
    Handshakes,
    JwtAuthGuard,
    // Not `useClass`: `overrideProvider(JwtAuthGuard)` in a test would not replace it.
    { provide: APP_GUARD, useExisting: JwtAuthGuard },
  ],
})
export class AuthModule implements OnModuleInit {
  constructor(
    private readonly verifier: TokenVerifier,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  onModuleInit(): void {
    // An application context has no adapter.
    const adapter = this.adapterHost.httpAdapter as AbstractHttpAdapter | null;
    verifyWith(this.verifier, adapter?.getHttpServer() as Server | undefined);
  }
}
