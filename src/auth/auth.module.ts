import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { JwtAuthGuard } from './jwt-auth.guard.js';
import { ClosedRoutes } from './closed-routes.js';
import { JwtStrategy } from './jwt.strategy.js';
import { TokenVerifier } from './token-verifier.js';

@Module({
  imports: [PassportModule],
  providers: [TokenVerifier, JwtStrategy, ClosedRoutes, { provide: APP_GUARD, useClass: JwtAuthGuard }],
})
export class AuthModule {}
