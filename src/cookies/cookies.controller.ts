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
import { Config } from '../config/config.js';
import { Scopes } from '../auth/scopes.decorator.js';
import { Preconditions, etagOf, RequestPreconditions } from '../resource/preconditions.js';
import { ErrorLog } from '../http/error-log.js';
import { JSON_TYPE, jsonArray, replay, wholeArray } from '../resource/lists/json-array.js';
import { ListCache } from '../resource/lists/list-cache.js';
import { ListQueue } from '../resource/lists/list-queue.js';
import { ListReaders } from '../resource/lists/list-readers.js';
import { nextPageLink } from '../resource/lists/page.js';
import { ParseIdPipe } from '../http/parse-id.pipe.js';
import {
  DescribeCreate,
  DescribeDelete,
  DescribeGet,
  DescribeList,
  DescribePatch,
  DescribeReplace,
} from './cookies.openapi.js';
import { type Account, type CookieSelection, CookiesService, type CookiesSnapshot } from './cookies.service.js';
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
    private readonly lists: ListCache,
    private readonly queue: ListQueue,
    private readonly readers: ListReaders,
    private readonly errors: ErrorLog,
    private readonly config: Config,
  ) {}

  @Get()
  @Scopes('cookies:read')
  @DescribeList()
  async list(
    @Query() query: ListCookiesQuery,
    @RequestPreconditions() preconditions: Preconditions,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Buffer | StreamableFile | undefined> {
    const account = await this.cookies.account();
    describe(account, query, reply);
    if (preconditions.isNotModified(account)) {
      reply.code(304);
      return undefined;
    }
    reply.type(JSON_TYPE);
    const cached = this.lists.get(etagOf(account), request.url);
    if (cached !== undefined) return replay(cached, this.lists, this.config.listTimeout, request.method);
    // Something may have changed since: the list is that of its snapshot.
    const make = (snapshot: CookiesSnapshot): Promise<Buffer | StreamableFile> => {
      describe(snapshot.account, query, reply);
      if (query.limit !== undefined) return page(snapshot, query.limit, selection(query), request, reply);
      return this.wholeList(snapshot, query, request, reply);
    };
    return this.queue.run(request, () => this.cookies.readSnapshot(make));
  }

  @Get(':id')
  @Scopes('cookies:read')
  @DescribeGet()
  async get(
    @Param('id', ParseIdPipe) id: number,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CookieDto | undefined> {
    const { cookie, version } = await this.cookies.get(id);
    reply.header('etag', etagOf(version));
    if (!preconditions.isNotModified(version)) return cookie;
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
    @RequestPreconditions() preconditions: Preconditions,
  ): Promise<CookieDto> {
    return (await this.cookies.replace(id, body, preconditions)).cookie;
  }

  @Patch(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @DescribePatch()
  async patch(
    @Param('id', ParseIdPipe) id: number,
    @Body() body: PatchCookieDto,
    @RequestPreconditions() preconditions: Preconditions,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { version } = await this.cookies.patch(id, body, preconditions);
    reply.header('etag', etagOf(version));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scopes('cookies:write')
  @DescribeDelete()
  delete(@Param('id', ParseIdPipe) id: number, @RequestPreconditions() preconditions: Preconditions): Promise<void> {
    return this.cookies.delete(id, preconditions);
  }

  private wholeList(
    snapshot: CookiesSnapshot,
    query: ListCookiesQuery,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Buffer | StreamableFile> {
    const { url } = request;
    const etag = etagOf(snapshot.account);
    return jsonArray(snapshot.pages(selection(query)), {
      close: () => snapshot.close(),
      timeout: this.config.listTimeout,
      reply,
      readers: this.readers,
      failed: (error, bytes) => this.errors.listBrokeOff(error, request, bytes),
      collectUpTo: () => (this.lists.collect(etag, url) ? this.lists.longest : 0),
      collected: (chunks) => this.lists.collected(etag, url, chunks),
    });
  }
}

/** What the header tells of the list, whether it follows or not. */
function describe(account: Account, { flavor, size }: ListCookiesQuery, reply: FastifyReply): void {
  if (flavor === undefined && size === undefined) reply.header('x-total-count', account.used);
  reply.header('etag', etagOf(account));
}

/** One page, and the way to the next while more follows. */
async function page(
  snapshot: CookiesSnapshot,
  limit: number,
  selected: CookieSelection,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Buffer> {
  try {
    const found = await snapshot.first(limit, selected);
    if (found === undefined) return wholeArray([]);
    const isLast = found.count < limit || !(await snapshot.first(1, { ...selected, after: found.last }));
    if (!isLast) reply.header('link', nextPageLink(request.url, found.last));
    return wholeArray(found.chunks);
  } finally {
    snapshot.close();
  }
}

function selection({ flavor, size, sort, after }: ListCookiesQuery): CookieSelection {
  return { flavors: flavor, sizes: size, order: sort === '-id' ? 'descending' : 'ascending', after };
}
