import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { AdminController } from './admin.controller.js';

/** The page at `/admin` (`ADMIN_PAGE`). When it is off, it has no route. */
@Module({})
export class AdminModule {
  static forRoot({ adminPage }: Config): DynamicModule {
    return { module: AdminModule, controllers: adminPage ? [AdminController] : [] };
  }
}
