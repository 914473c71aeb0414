import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, DiscoveryModule } from '@nestjs/core';
import { ErrorLog } from './errors/error-log.js';
import { ErrorFilter } from './errors/error.filter.js';
import { RequestGuard } from './request.guard.js';
import { RouteCheck } from './validation/route-check.js';
import { RequestValidationPipe } from './validation/validation.pipe.js';

/** The filter, the guard and the pipe that every route has, and the checks of all routes at start. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [
    { provide: APP_FILTER, useClass: ErrorFilter },
    { provide: APP_GUARD, useClass: RequestGuard },
    { provide: APP_PIPE, useClass: RequestValidationPipe },
    ErrorLog,
    RouteCheck,
  ],
  // `ErrorLog` for `@UseFilters(ErrorFilter)` in modules of teams; a gateway needs it.
  exports: [ErrorLog, DiscoveryModule],
})
export class HttpModule {}
