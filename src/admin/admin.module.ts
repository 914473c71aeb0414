import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from '../config/config.js';
import { AdminController } from './admin.controller.js';

/** The routes of the page at `/admin`; none if `ADMIN_PAGE` is off. */
@Module({})
export class AdminModule {
  static forRoot({ adminPage }: Config): DynamicModule {
    return { module: AdminModule, controllers: adminPage ? [AdminController] : [] };
  }
}
