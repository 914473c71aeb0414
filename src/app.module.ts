import { type DynamicModule, Module } from '@nestjs/common';
import { AdminModule } from './admin/admin.module.js';
import { AuthModule } from './auth/auth.module.js';
import { Config } from './config/config.js';
import { ConfigModule } from './config/config.module.js';
import { CookiesModule } from './cookies/cookies.module.js';
import { DatabaseModule } from './database/database.module.js';
import { HttpModule } from './http/http.module.js';
import { ManagementModule } from './management/management.module.js';
import { RateLimitModule } from './rate-limit/rate-limit.module.js';
import { ResourceModule } from './resource/resource.module.js';

/** The list of modules. A new feature is one more line under "features". */
@Module({})
export class AppModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(config),
        DatabaseModule.forRoot(),
        // Global guards run in this order. The token is checked first, so that a request without one gets no other
        // error, and counted before anything else of it is looked at.
        AuthModule,
        RateLimitModule,
        HttpModule,
        ResourceModule,
        ManagementModule,
        AdminModule.forRoot(config),
        // features
        CookiesModule,
      ],
    };
  }
}
