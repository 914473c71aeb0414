import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Req,
  Res,
  type StreamableFile,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Scopes } from '../auth/scopes.decorator.js';
import { ParseIdPipe } from '../http/parse-id.pipe.js';
import { ResourceLists } from '../resource/lists/resource-lists.js';
import { ApiCreate, ApiDelete, ApiGet, ApiList, ApiPatch, ApiReplace } from '../resource/openapi/operations.js';
import { Preconditions, RequestPreconditions } from '../resource/preconditions.js';
import { respondChanged, respondCreated, respondRecord } from '../resource/responses.js';
import { COOKIE } from './cookie.values.js';
import { CookiesService } from './cookies.service.js';
import { CookieDto } from './dto/cookie.dto.js';
import { CreateCookieDto } from './dto/create-cookie.dto.js';
import { ListCookiesQuery } from './dto/list-cookies.query.js';
import { PatchCookieDto } from './dto/patch-cookie.dto.js';
import { ReplaceCookieDto } from './dto/replace-cookie.dto.js';

@ApiTags('cookies')
@Controller('cookies')
export class CookiesController {
  constructor(
    private readonly cookies: CookiesService,
    private readonly lists: ResourceLists,
  ) {}

  @Get()
  @Scopes('cookies:read')
  @ApiList(COOKIE, { record: CookieDto, query: ListCookiesQuery })
  list(
    @Query() query: ListCookiesQuery,
    @RequestPreconditions() preconditions: Preconditions,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | StreamableFile | undefined> {
    return this.lists.respond(this.cookies.source, query, { preconditions, request, reply });
  }

  @Get(':id')
  @Scopes('cookies:read')
  @ApiGet(COOKIE, { record: CookieDto })
  async get(
    @Param('id', ParseIdPipe) id: number,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CookieDto | undefined> {
    return respondRecord(await this.cookies.get(id), preconditions, reply);
  }

  @Post()
  @Scopes('cookies:write')
  @ApiCreate(COOKIE, { record: CookieDto, body: CreateCookieDto })
  async create(@Body() body: CreateCookieDto, @Res({ passthrough: true }) reply: FastifyReply): Promise<CookieDto> {
    return respondCreated(COOKIE, await this.cookies.create(body), reply);
  }

  /** Without an ETag: the record has a wish that the request did not send (RFC 9110 section 9.3.4). */
  @Put(':id')
  @Scopes('cookies:write')
  @ApiReplace(COOKIE, {
    record: CookieDto,
    body: ReplaceCookieDto,
    description: 'Replaces flavor and size. The wish is not part of this representation and stays as it is.',
  })
  async replace(
    @Param('id', ParseIdPipe) id: number,
    @Body() body: ReplaceCookieDto,
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<CookieDto> {
    return (await this.cookies.replace(id, body, preconditions)).record;
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @ApiPatch(COOKIE, { body: PatchCookieDto })
  async patch(
    @Param('id', ParseIdPipe) id: number,
    @Body() body: PatchCookieDto,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    respondChanged(await this.cookies.patch(id, body, preconditions), reply);
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @ApiDelete(COOKIE)
  delete(@Param('id', ParseIdPipe) id: number, @RequestPreconditions() preconditions: Preconditions): Promise<void> {
    return this.cookies.delete(id, preconditions);
  }
}
