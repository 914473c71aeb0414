import { type DynamicModule, Module } from '@nestjs/common';
import { Config } from './config.js';

/** Makes the one `Config` injectable everywhere. */
@Module({})
export class ConfigModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
    };
  }
}
