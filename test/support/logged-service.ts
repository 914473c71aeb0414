import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import type { Environment } from '../../src/config/config.js';
import { standardOutput } from '../../src/logging/standard-output.js';
import { type Service, startService, temporaryFolder } from './service.js';

export interface LoggedService extends Service {
  /** The log of the service since its start. */
  readonly output: string;
}

/** The log of all services that a spec starts in this process. */
const file = join(temporaryFolder(), 'log');
const buffer = standardOutput(openSync(file, 'a'));

function written(): Buffer {
  buffer.flush();
  return readFileSync(file);
}

/** Starts the service in this process, as in production, with a log that the test can read. */
export async function startLoggedService(environment: Environment = {}, modules: Type[] = []): Promise<LoggedService> {
  const before = written().length;
  const service = await startService({ NODE_ENV: 'production', LOG_LEVEL: 'info', ...environment }, modules);
  return Object.defineProperty(service as LoggedService, 'output', {
    get: () => written().subarray(before).toString(),
  });
}
