import { Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { actAsRequest } from './actor.js';
import { AuditUpkeep } from './audit-upkeep.js';
import { AuditController } from './audit.controller.js';

/** The audit trail. `ResourceModule.forFeature` imports it for a resource that is audited. */
@Module({ controllers: [AuditController], providers: [AuditUpkeep] })
export class AuditModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('preHandler', (request, _reply, done) => actAsRequest(request, done));
  }
}
