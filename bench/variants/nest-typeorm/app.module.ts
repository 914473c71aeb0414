import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { PassportModule } from '@nestjs/passport';
import { TypeOrmModule } from '@nestjs/typeorm';
import type BetterSqlite3 from 'better-sqlite3';
import { Cookie } from './cookie.entity.js';
import { CookiesController } from './cookies.controller.js';
import { CookiesService } from './cookies.service.js';
import { JwtStrategy } from './jwt.strategy.js';

/** The installed version of better-sqlite3 that this Node can load. */
const DRIVER = Number.parseInt(process.versions.node, 10) >= 22 ? 'better-sqlite3' : 'better-sqlite3-12';

@Module({
  imports: [
    PassportModule,
    TypeOrmModule.forRoot({
      type: 'better-sqlite3',
      driver: createRequire(import.meta.url)(DRIVER) as unknown,
      database: process.env['DATABASE_URL']!.replace(/^sqlite:/, ''),
      enableWAL: true,
      // With WAL, better-sqlite3's default does not make commits durable.
      prepareDatabase: (database: BetterSqlite3.Database) => void database.pragma('synchronous = FULL'),
      autoLoadEntities: true,
      synchronize: true,
    }),
    TypeOrmModule.forFeature([Cookie]),
  ],
  controllers: [CookiesController],
  providers: [CookiesService, JwtStrategy],
})
export class AppModule {}
