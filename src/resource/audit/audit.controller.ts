import { Controller, Get, Module, type OnModuleInit, Query } from '@nestjs/common';
import { type AbstractHttpAdapter, HttpAdapterHost } from '@nestjs/core';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { DataSource } from 'typeorm';
import { Scopes } from '../../auth/scopes.decorator.js';
import { committed } from '../../database/engine.js';
import { invalidRequest } from '../../http/errors/api-error.js';
import { ApiErrors, describedError } from '../../openapi/documented-errors.js';
import { headers } from '../../openapi/header-fields.js';
import { RateClass } from '../../rate-limit/rate-limit.guard.js';
import { Exchange, ResourceExchange } from '../exchange.js';
import { nextPageLink } from '../lists/resource-lists.js';
import { actAsRequest } from './actor.js';
import { chainsOf, publicLine, readLines } from './audit-lines.js';
import { AuditUpkeep } from './audit-upkeep.js';
import { AuditLineDto, AuditQuery } from './audit.dto.js';

const SCOPE = 'audit:read';

const notAudited = (names: readonly string[]) =>
  invalidRequest([{ parameter: 'resource', message: `must be one of ${names.join(', ')}` }]);

/** Reads the audit trail. It exists only if a resource is audited. */
@ApiTags('audit')
@Controller('audit')
export class AuditController {
  constructor(private readonly dataSource: DataSource) {}

  @Get()
  @Scopes(SCOPE)
  @RateClass('list')
  @ApiOperation({
    operationId: 'listAuditLines',
    summary: 'Retrieve the audit trail of a resource',
    description: 'A page of lines, oldest first. Each is one change of a record.',
  })
  @ApiResponse({ status: 200, description: 'The lines', type: [AuditLineDto], headers: headers('Link') })
  @ApiErrors(SCOPE, describedError(notAudited(['orders']), 'A parameter is missing, unknown or not valid'))
  async list(@Query() query: AuditQuery, @Exchange() { request, reply }: ResourceExchange): Promise<object[]> {
    const { limit = 100, resource } = query;
    const source = committed(this.dataSource);
    const names = (await chainsOf(source)).map((chain) => chain.resource);
    if (!names.includes(resource)) throw notAudited(names);
    const lines = await readLines(source, query, limit + 1);
    const page = lines.slice(0, limit);
    if (lines.length > limit) reply.header('link', nextPageLink(request.url, page.at(-1)!.sequence));
    return page.map(publicLine);
  }
}

/** The audit trail. `ResourceModule.forFeature` imports it for a resource that is audited. */
@Module({ controllers: [AuditController], providers: [AuditUpkeep] })
export class AuditModule implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    // An application context has no adapter.
    const fastify = (this.host.httpAdapter as AbstractHttpAdapter | null)?.getInstance<FastifyInstance>();
    fastify?.addHook('preHandler', (request, _reply, done) => actAsRequest(request, done));
  }
}
