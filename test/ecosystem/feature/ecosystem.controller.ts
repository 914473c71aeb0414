import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { HttpService } from '@nestjs/axios';
import { InjectQueue } from '@nestjs/bullmq';
import { CACHE_MANAGER } from '@nestjs/cache-manager';
import { Controller, Get, Inject, Query, UseGuards } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { CommandBus } from '@nestjs/cqrs';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { HealthCheckService, TypeOrmHealthIndicator } from '@nestjs/terminus';
import { ThrottlerGuard } from '@nestjs/throttler';
import argon2 from 'argon2';
import bcrypt from 'bcrypt';
import { type Queue, QueueEvents } from 'bullmq';
import type { Cache } from 'cache-manager';
import { ClsService } from 'nestjs-cls';
import { PinoLogger } from 'nestjs-pino';
import sharp from 'sharp';
import { z } from 'zod';
import { Public } from '../auth/scopes.decorator.js';
import { DoubleCommand, Listener, Ticks, TransactionalWork } from './ecosystem.providers.js';

const MODULES = ['./dynamic.js'];

@Controller('ecosystem')
@Public()
export class EcosystemController {
  constructor(
    private readonly ticks: Ticks,
    private readonly listener: Listener,
    private readonly events: EventEmitter2,
    private readonly commands: CommandBus,
    private readonly config: ConfigService,
    private readonly http: HttpService,
    private readonly health: HealthCheckService,
    private readonly database: TypeOrmHealthIndicator,
    private readonly cls: ClsService,
    private readonly transactional: TransactionalWork,
    private readonly logger: PinoLogger,
    @Inject(CACHE_MANAGER) private readonly cache: Cache,
    @InjectQueue('jobs') private readonly jobs: Queue,
  ) {}

  /** The result of each package; `run.js` has the expected values. */
  @Get()
  async all(): Promise<object> {
    return {
      schedule: this.ticks.count > 0,
      eventEmitter: this.events.emit('said', 'hello') && this.listener.heard.at(-1),
      cqrs: await this.commands.execute(new DoubleCommand(21)),
      config: this.config.get<string>('ECOSYSTEM_WORD'),
      axios: (await this.http.axiosRef.get<{ status: string }>(process.env['ECOSYSTEM_LIVE']!)).status,
      cacheManager: (await this.cache.set('key', 'kept')) && (await this.cache.get('key')),
      terminus: (await this.health.check([() => this.database.pingCheck('database')])).info?.['database']?.status,
      bullmq: await this.job(),
      cls: this.cls.isActive(),
      transactional: await this.transactional.isInTransaction(),
      pino: this.logger.info('logged by nestjs-pino') === undefined,
      argon2: await argon2.verify(await argon2.hash('secret'), 'secret'),
      bcrypt: await bcrypt.compare('secret', await bcrypt.hash('secret', 4)),
      sharp:
        (
          await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
            .png()
            .toBuffer()
        ).length > 50,
      template: readFileSync(new URL('./greeting.txt', import.meta.url), 'utf8').trim(),
      worker: (
        await once(new Worker(new URL('./square.worker.js', import.meta.url), { workerData: 12 }), 'message')
      )[0],
      dynamicImport: ((await import(MODULES[0]!)) as { answer: number }).answer,
    };
  }

  @Get('throttled')
  @UseGuards(ThrottlerGuard)
  throttled(): string[] {
    return [];
  }

  /** A response that is long enough to be compressed. */
  @Get('zod')
  zod(@Query('limit', { schema: z.coerce.number() }) limit: number): string[] {
    return Array<string>(limit).fill('x'.repeat(1000));
  }

  private async job(): Promise<unknown> {
    const events = new QueueEvents('jobs', {
      connection: { host: '127.0.0.1', port: Number(process.env['ECOSYSTEM_REDIS']) },
    });
    try {
      await events.waitUntilReady();
      return await (await this.jobs.add('increment', { value: 1 })).waitUntilFinished(events, 10_000);
    } finally {
      await events.close();
    }
  }
}
