import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { LiveConfig } from '../database/polling/live-config.js';
import { ApiError } from './errors/api-error.js';
import { isWriteCall } from './messages/request.js';

/** Seconds after which a client may try again. */
const RETRY_AFTER = 30;

/** Rejects calls that may write with 503 while `MAINTENANCE` is true. It runs after the token check. */
@Injectable()
export class MaintenanceGuard implements CanActivate {
  constructor(private readonly live: LiveConfig) {}

  canActivate(context: ExecutionContext): boolean {
    if (this.live.current.maintenance && isWriteCall(context)) throw inMaintenance();
    return true;
  }
}

/** 503 for a write while the service is in maintenance. */
export function inMaintenance(): ApiError {
  const message = 'The service is in maintenance: it can be read, and nothing can be changed; try again later';
  return new ApiError(503, 'MAINTENANCE', message, { headers: { 'retry-after': String(RETRY_AFTER) } });
}
