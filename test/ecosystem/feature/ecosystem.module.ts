import { ClsPluginTransactional } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { HttpModule } from '@nestjs/axios';
import { BullModule } from '@nestjs/bullmq';
import { CacheModule } from '@nestjs/cache-manager';
import { Module } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import { CqrsModule } from '@nestjs/cqrs';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { ScheduleModule } from '@nestjs/schedule';
import { TerminusModule } from '@nestjs/terminus';
import { ThrottlerModule } from '@nestjs/throttler';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { ClsModule } from 'nestjs-cls';
import { LoggerModule } from 'nestjs-pino';
import { EcosystemController } from './ecosystem.controller.js';
import { GreetingsGateway } from './greetings.gateway.js';
import { GreetingsResolver } from './greetings.resolver.js';
import { DoubleHandler, JobProcessor, Listener, Ticks, TransactionalWork } from './ecosystem.providers.js';

/** Uses the most common packages as their documentation shows. */
@Module({
  imports: [
    BullModule.forRoot({ connection: { host: '127.0.0.1', port: Number(process.env['ECOSYSTEM_REDIS']) } }),
    BullModule.registerQueue({ name: 'jobs' }),
    CacheModule.register(),
    ClsModule.forRoot({
      global: true,
      middleware: { mount: true },
      plugins: [
        new ClsPluginTransactional({
          imports: [TypeOrmModule],
          adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: getDataSourceToken() }),
        }),
      ],
    }),
    ConfigModule.forRoot({ ignoreEnvFile: true }),
    CqrsModule,
    EventEmitterModule.forRoot(),
    GraphQLModule.forRoot<MercuriusDriverConfig>({ driver: MercuriusDriver, autoSchemaFile: true }),
    HttpModule,
    LoggerModule.forRoot({ pinoHttp: { autoLogging: false } }),
    ScheduleModule.forRoot(),
    TerminusModule,
    ThrottlerModule.forRoot([{ ttl: 60_000, limit: 2 }]),
  ],
  controllers: [EcosystemController],
  providers: [DoubleHandler, GreetingsGateway, GreetingsResolver, JobProcessor, Listener, Ticks, TransactionalWork],
})
export class EcosystemModule {}
