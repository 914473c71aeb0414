import { Injectable, type StreamableFile } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Config } from '../../config/config.js';
import { ErrorLog } from '../../http/errors/error-log.js';
import type { ResourceUsage } from '../usage/usage-counter.js';
import type { ResourceExchange } from '../exchange.js';
import { etagOf } from '../preconditions.js';
import type { JsonPage } from '../store/json-page.js';
import type { Selection } from '../store/selection.js';
import { JSON_TYPE, jsonArray, replay, wholeArray } from './json-array.js';
import { ListCache } from './list-cache.js';
import { afterOf, isFiltered, type ListQuery, selectionOf } from './list-query.js';
import { ListQueue } from './list-queue.js';
import { ListReaders } from './list-readers.js';
import { nextPageLink } from './page.js';

/** One state of what is listed; a `ResourceSnapshot` is one. */
export interface ListSnapshot {
  readonly usage: ResourceUsage;
  /** At most `limit` of the selected records; `undefined` without any. */
  first(limit: number, selection: Selection): Promise<JsonPage | undefined>;
  /** All of the selected records. */
  pages(selection: Selection): AsyncIterator<JsonPage>;
  close(): void;
}

/** What can be listed; a `ResourceRepository` is one. */
export interface ListSource {
  usage(): Promise<ResourceUsage>;
  /**
   * Lets `read` read one state, and again when the connection breaks: it must close what it is given, and have sent nothing to
   * the client when it rejects.
   */
  readSnapshot<T>(read: (snapshot: ListSnapshot) => Promise<T>): Promise<T>;
}

/** What the handler of a list returns. */
export type ListBody = Buffer | StreamableFile;

/**
 * Responds to the request for a list: 304 at constant cost, a page with its `Link`, or all records, streamed from one state in
 * bounded memory. Lists take turns, are cached, and are cut off where their reader stalls.
 */
@Injectable()
export class ResourceLists {
  constructor(
    private readonly cache: ListCache,
    private readonly queue: ListQueue,
    private readonly readers: ListReaders,
    private readonly errors: ErrorLog,
    private readonly config: Config,
  ) {}

  /**
   * What the handler of the list returns.
   * @throws {ApiError} 412 when `If-Match` does not hold, 503 when too many lists are read
   */
  async respond(source: ListSource, query: ListQuery, exchange: ResourceExchange): Promise<ListBody | undefined> {
    const { preconditions, request, reply } = exchange;
    const selection = selectionOf(query);
    const usage = await source.usage();
    describe(usage, selection, reply);
    if (preconditions.isNotModified(usage)) {
      reply.code(304);
      return undefined;
    }
    reply.type(JSON_TYPE);
    const cached = this.cache.get(etagOf(usage), request.url);
    if (cached !== undefined) {
      if (cached.link !== undefined) reply.header('link', cached.link);
      return replay(cached, this.cache, this.config.listTimeout, request.method);
    }
    // Something may have changed since: the list is that of its snapshot.
    const make = (snapshot: ListSnapshot): Promise<ListBody> => {
      describe(snapshot.usage, selection, reply);
      if (query.limit !== undefined) return this.page(snapshot, query.limit, selection, exchange);
      return this.wholeList(snapshot, selection, exchange);
    };
    return this.queue.run(request, () => source.readSnapshot(make));
  }

  /** One page, and the way to the next while more follows. */
  private async page(
    snapshot: ListSnapshot,
    limit: number,
    selection: Selection,
    { request, reply }: ResourceExchange,
  ): Promise<Buffer> {
    const { url } = request;
    try {
      const found = await snapshot.first(limit, selection);
      const body = wholeArray(found?.chunks ?? []);
      const link = found && (await linkBehind(snapshot, limit, selection, found, url));
      if (link !== undefined) reply.header('link', link);
      this.cache.add(etagOf(snapshot.usage), url, body, link);
      return body;
    } finally {
      snapshot.close();
    }
  }

  private async wholeList(
    snapshot: ListSnapshot,
    selection: Selection,
    { request, reply }: ResourceExchange,
  ): Promise<ListBody> {
    const { url } = request;
    const etag = etagOf(snapshot.usage);
    const body = await jsonArray(snapshot.pages(selection), {
      close: () => snapshot.close(),
      timeout: this.config.listTimeout,
      reply,
      readers: this.readers,
      failed: (error, bytes) => this.errors.listBrokeOff(error, request, bytes),
      collectUpTo: () => (this.cache.collect(etag, url) ? this.cache.longest : 0),
      collected: (chunks) => this.cache.collected(etag, url, chunks),
    });
    if (body instanceof Buffer) this.cache.add(etag, url, body);
    return body;
  }
}

/** What the header says of the list, whether it follows or not. */
function describe(usage: ResourceUsage, selection: Selection, reply: FastifyReply): void {
  if (!isFiltered(selection)) reply.header('x-total-count', usage.count);
  reply.header('etag', etagOf(usage));
}

/** Where the page goes on, unless it is the last. */
async function linkBehind(
  snapshot: ListSnapshot,
  limit: number,
  selection: Selection,
  { count, last }: JsonPage,
  url: string,
): Promise<string | undefined> {
  if (count < limit) return undefined;
  const next = await snapshot.first(1, { ...selection, after: last });
  return next && nextPageLink(url, afterOf(selection, last));
}
