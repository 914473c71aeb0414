import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Scopes } from '../auth/scopes.decorator.js';
import { Exchange, RecordId, ResourceExchange } from '../resource/exchange.js';
import { ApiCreate, ApiDelete, ApiGet, ApiList, ApiPatch, ApiReplace } from '../resource/operations.js';
import { type ListBody, ResourceLists } from '../resource/lists/resource-lists.js';
import { COOKIE } from './cookie.values.js';
import { CookiesService } from './cookies.service.js';
import { CookieDto, CreateCookieDto, ListCookiesQuery, PatchCookieDto, ReplaceCookieDto } from './dto/cookie.dto.js';

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
  list(@Query() query: ListCookiesQuery, @Exchange() exchange: ResourceExchange): Promise<ListBody | undefined> {
    return this.lists.respond(this.cookies.records, query, exchange);
  }

  @Get(':id')
  @Scopes('cookies:read')
  @ApiGet(COOKIE, { record: CookieDto })
  async get(@RecordId() id: number, @Exchange() exchange: ResourceExchange): Promise<CookieDto | undefined> {
    return exchange.record(await this.cookies.records.get(id));
  }

  @Post()
  @Scopes('cookies:write')
  @ApiCreate(COOKIE, { record: CookieDto, body: CreateCookieDto })
  async create(@Body() body: CreateCookieDto, @Exchange() exchange: ResourceExchange): Promise<CookieDto> {
    return exchange.created(COOKIE, await this.cookies.records.create(body, exchange.preconditions));
  }

  /** Sends no ETag, because the record also has a wish, which the request does not send (RFC 9110 section 9.3.4). */
  @Put(':id')
  @Scopes('cookies:write')
  @ApiReplace(COOKIE, {
    record: CookieDto,
    body: ReplaceCookieDto,
    description: 'Replaces flavor and size. The wish is not part of this representation and stays as it is.',
  })
  async replace(
    @RecordId() id: number,
    @Body() body: ReplaceCookieDto,
    @Exchange() { preconditions }: ResourceExchange,
  ): Promise<CookieDto> {
    return (await this.cookies.records.update(id, body, preconditions)).record;
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @ApiPatch(COOKIE, { body: PatchCookieDto })
  async patch(
    @RecordId() id: number,
    @Body() body: PatchCookieDto,
    @Exchange() exchange: ResourceExchange,
  ): Promise<void> {
    exchange.changed(await this.cookies.records.update(id, body, exchange.preconditions));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @ApiDelete(COOKIE)
  delete(@RecordId() id: number, @Exchange() { preconditions }: ResourceExchange): Promise<void> {
    return this.cookies.records.delete(id, preconditions);
  }
}
