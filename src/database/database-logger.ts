import { Logger as NestLogger } from '@nestjs/common';
import type { Logger } from 'typeorm';

/**
 * Sends what TypeORM reports into the service's own log. Parameters are left out: they may be personal or secret. Failed
 * statements are thrown to their callers, who know whether they matter, so they are not logged here.
 */
export class DatabaseLogger implements Logger {
  private readonly logger = new NestLogger('Database');

  logQuery(): void {}

  logQueryError(): void {}

  logQuerySlow(milliseconds: number, query: string): void {
    this.logger.warn(`A statement took ${milliseconds} ms: ${query}`);
  }

  logSchemaBuild(message: string): void {
    this.logger.debug(message);
  }

  logMigration(message: string): void {
    this.logger.log(message);
  }

  log(level: 'log' | 'info' | 'warn', message: unknown): void {
    if (level === 'warn') this.logger.warn(message);
    else this.logger.debug(message);
  }
}
