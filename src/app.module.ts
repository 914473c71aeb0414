import { type DynamicModule, Module } from '@nestjs/common';
import { AdminController } from './admin/admin.controller.js';
import { AuthModule } from './auth/auth.module.js';
import { Config } from './config/config.js';
import { CookiesModule } from './cookies/cookies.module.js';
import { DatabaseModule } from './database/database.module.js';
import { HttpModule } from './http/http.module.js';
import { ManagementModule } from './management/management.module.js';
import { RateLimitModule } from './rate-limit/rate-limit.guard.js';
import { ResourceModule } from './resource/resource.module.js';

/** The list of modules. A new feature is one more line under "features". */
@Module({})
export class AppModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: AppModule,
      // Makes the one `Config` injectable everywhere.
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
      controllers: config.adminPage ? [AdminController] : [],
      imports: [
        DatabaseModule,
        // Global guards run in this order: the token check is first, so that without a token there is no other error.
        AuthModule,
        RateLimitModule,
        HttpModule,
        ResourceModule,
        ManagementModule,
        // features
        CookiesModule,
      ],
    };
  }
}
