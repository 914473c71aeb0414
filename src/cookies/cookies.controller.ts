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
import { Conditions, etagOf, RequestConditions } from '../http/conditions.js';
import { jsonArray } from '../http/json-array.js';
import { nextPageLink } from '../http/page.js';
import { ParseIdPipe } from '../http/parse-id.pipe.js';
import {
  DescribeCreate,
  DescribeDelete,
  DescribeGet,
  DescribeList,
  DescribePatch,
  DescribeReplace,
} from './cookies.openapi.js';
import { type CookieSelection, CookiesService, type CookiesSnapshot } from './cookies.service.js';
import { CookieDto } from './dto/cookie.dto.js';
import { CreateCookieDto } from './dto/create-cookie.dto.js';
import { ListCookiesQuery } from './dto/list-cookies.query.js';
import { PatchCookieDto } from './dto/patch-cookie.dto.js';
import { ReplaceCookieDto } from './dto/replace-cookie.dto.js';

@ApiTags('cookies')
@Controller('cookies')
export class CookiesController {
  constructor(private readonly cookies: CookiesService) {}

  @Get()
  @Scopes('cookies:read')
  @DescribeList()
  async list(
    @Query() query: ListCookiesQuery,
    @RequestConditions() conditions: Conditions,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CookieDto[] | StreamableFile | undefined> {
    const snapshot = await this.cookies.openSnapshot();
    try {
      reply.header('etag', etagOf(snapshot.version));
      if (query.flavor === undefined && query.size === undefined) reply.header('x-total-count', snapshot.total);
      if (conditions.isFresh(snapshot.version)) {
        reply.code(304);
        await snapshot.close();
        return undefined;
      }
      if (query.limit !== undefined) return await page(snapshot, query.limit, query, request, reply);
    } catch (error) {
      await snapshot.close();
      throw error;
    }
    return jsonArray(snapshot.pages(selection(query)), () => snapshot.close());
  }

  @Get(':id')
  @Scopes('cookies:read')
  @DescribeGet()
  async get(
    @Param('id', ParseIdPipe) id: number,
    @RequestConditions() conditions: Conditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CookieDto | undefined> {
    const { cookie, version } = await this.cookies.get(id);
    reply.header('etag', etagOf(version));
    if (!conditions.isFresh(version)) return cookie;
    reply.code(304);
    return undefined;
  }

  @Post()
  @Scopes('cookies:write')
  @DescribeCreate()
  async create(@Body() body: CreateCookieDto, @Res({ passthrough: true }) reply: FastifyReply): Promise<CookieDto> {
    const { cookie, version } = await this.cookies.create(body);
    reply.headers({ location: `/cookies/${cookie.id}`, etag: etagOf(version) });
    return cookie;
  }

  /** Without an ETag: the record has a wish that the request did not send (RFC 9110 section 9.3.4). */
  @Put(':id')
  @Scopes('cookies:write')
  @DescribeReplace()
  async replace(
    @Param('id', ParseIdPipe) id: number,
    @Body() body: ReplaceCookieDto,
    @RequestConditions() conditions: Conditions,
  ): Promise<CookieDto> {
    return (await this.cookies.replace(id, body, conditions)).cookie;
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @DescribePatch()
  async patch(
    @Param('id', ParseIdPipe) id: number,
    @Body() body: PatchCookieDto,
    @RequestConditions() conditions: Conditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { version } = await this.cookies.patch(id, body, conditions);
    reply.header('etag', etagOf(version));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @DescribeDelete()
  delete(@Param('id', ParseIdPipe) id: number, @RequestConditions() conditions: Conditions): Promise<void> {
    return this.cookies.delete(id, conditions);
  }
}

/** One page, and the way to the next while more follows: one record more than asked for tells. */
async function page(
  snapshot: CookiesSnapshot,
  limit: number,
  query: ListCookiesQuery,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<CookieDto[]> {
  const records = await snapshot.first(limit + 1, selection(query));
  await snapshot.close();
  if (records.length > limit) {
    records.pop();
    reply.header('link', nextPageLink(request.url, records.at(-1)!.id));
  }
  return records;
}

function selection({ flavor, size, sort, after }: ListCookiesQuery): CookieSelection {
  return { flavors: flavor, sizes: size, order: sort === '-id' ? 'descending' : 'ascending', after };
}
