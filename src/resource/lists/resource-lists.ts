import { Injectable, StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { TrackedResponse } from '../../http/connections/request-tracker.js';
import { routeOf, targetOf } from '../../http/messages/request.js';
import { Metrics } from '../../management/metrics.js';
import type { ResourceExchange } from '../exchange.js';
import { etagOf } from '../preconditions.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import type { ResourceRepository } from '../store/resource-repository.js';
import type { JsonPage, ResourceSnapshot } from '../store/resource-snapshot.js';
import type { Selection } from '../store/selection.js';
import type { ResourceUsage } from '../usage/usage-counter.js';
import { arrayChunks, JSON_TYPE, jsonStream, ListStream, wholeArray } from './json-array.js';
import { type CachedList, ListCache } from './list-cache.js';
import { afterOf, isFiltered, type ListQuery, selectionOf } from './list-declaration.js';
import { ListQueue } from './list-queue.js';
import { ListReaders } from './list-readers.js';

type ListSnapshot = Pick<ResourceSnapshot<AnyResourceEntity>, 'usage' | 'first' | 'pages' | 'close'>;

/** A source of lists: a repository, or the records of its `where(...)`. */
type ListSource = Pick<ResourceRepository<AnyResourceEntity>, 'scopeKey' | 'usage' | 'readSnapshot'>;

/** The return value of a list handler. */
export type ListBody = Buffer | StreamableFile;

/**
 * Responds to GET of a list: 304, a page with its `Link`, or all records as a stream from one snapshot in bounded
 * memory. It uses the queue, the cache and the limits on slow readers.
 */
@Injectable()
export class ResourceLists {
  constructor(
    private readonly cache: ListCache,
    private readonly queue: ListQueue,
    private readonly readers: ListReaders,
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Makes the return value of a list handler.
   * @throws {ApiError} 412 when `If-Match` does not hold, 503 when too many lists are read
   */
  async respond(source: ListSource, query: ListQuery, exchange: ResourceExchange): Promise<ListBody | undefined> {
    const { preconditions, request, reply } = exchange;
    const selection = selectionOf(query);
    const usage = await source.usage();
    setListHeaders(source, usage, selection, reply);
    if (preconditions.isNotModified(usage)) {
      reply.code(304);
      return undefined;
    }
    reply.type(JSON_TYPE);
    const cached = this.cache.get(etagOf(usage), cacheKey(source, request));
    if (cached !== undefined) {
      if (cached.link !== undefined) reply.header('link', cached.link);
      return this.counted(this.replay(cached, request), request);
    }
    // The records may have changed since then, so the headers are set again from the snapshot.
    const make = (snapshot: ListSnapshot): Promise<ListBody> => {
      setListHeaders(source, snapshot.usage, selection, reply);
      const key = cacheKey(source, request);
      if (query.limit !== undefined) return this.page(snapshot, query.limit, selection, key, exchange);
      return this.wholeList(snapshot, selection, key, exchange);
    };
    try {
      return await this.queue.run(request, query.limit !== undefined, () => source.readSnapshot(make));
    } catch (error) {
      // An error response has no version.
      reply.removeHeader('etag').removeHeader('x-total-count');
      throw error;
    }
  }

  /** Makes one page, with a `Link` to the next page if there is one. */
  private async page(
    snapshot: ListSnapshot,
    limit: number,
    selection: Selection,
    key: string,
    { request, reply }: ResourceExchange,
  ): Promise<Buffer> {
    try {
      const page = await snapshot.first(limit, selection);
      const body = wholeArray(page?.chunks ?? []);
      let link: string | undefined;
      if (page?.count === limit && (await snapshot.first(1, { ...selection, after: page.last })) !== undefined) {
        link = nextPageLink(request.url, afterOf(selection, page.last));
        reply.header('link', link);
      }
      this.cache.add(etagOf(snapshot.usage), key, body, link);
      return body;
    } finally {
      snapshot.close();
    }
  }

  /** Makes a Buffer when the list is a single page, otherwise a stream that holds one page at a time. */
  private async wholeList(
    snapshot: ListSnapshot,
    selection: Selection,
    key: string,
    exchange: ResourceExchange,
  ): Promise<ListBody> {
    const { request } = exchange;
    const pages = snapshot.pages(selection);
    try {
      const first = await pages.next();
      const second = first.done ? first : await pages.next();
      if (!second.done && request.method !== 'HEAD') {
        const chunks = arrayChunks([first.value as JsonPage, second.value], pages);
        return this.counted(this.stream(chunks, snapshot, key, exchange), request);
      }
      snapshot.close();
      if (!second.done) return this.counted(jsonStream(), request);
      const body = wholeArray(first.done ? [] : first.value.chunks);
      this.cache.add(etagOf(snapshot.usage), key, body);
      return body;
    } catch (error) {
      snapshot.close();
      throw error;
    }
  }

  /** Streams a list, and collects it for the cache. The client may be disconnected, because others need its snapshot. */
  private stream(
    arrayChunks: AsyncGenerator<Buffer>,
    snapshot: ListSnapshot,
    key: string,
    { request, reply }: ResourceExchange,
  ): StreamableFile {
    const { cache, readers } = this;
    const reader = readers.admit(request, () => array.cutOff());
    const etag = etagOf(snapshot.usage);
    const limit = cache.collect() ? cache.longest : 0;
    let chunksSoFar: Buffer[] | undefined = limit > 0 ? [] : undefined;
    let length = 0;
    let ended = false;

    async function* chunks(): AsyncGenerator<Buffer> {
      for await (const chunk of arrayChunks) {
        length += chunk.length;
        if (length > limit) chunksSoFar = undefined;
        chunksSoFar?.push(chunk);
        countChunk(reply, chunk);
        yield chunk;
        reader.read();
      }
      ended = true;
    }

    const array = new ListStream(chunks(), this.config.listTimeout, () => {
      readers.leave(reader);
      if (limit > 0) cache.collected(etag, key, ended ? chunksSoFar : undefined);
      snapshot.close();
    });
    return jsonStream(array);
  }

  /** Sends a cached list again, as one Buffer or as a stream. */
  private replay(list: CachedList, { method }: FastifyRequest): ListBody {
    if (list.chunks.length === 1) return list.chunks[0]!;
    if (method === 'HEAD') return jsonStream();
    this.cache.retain(list);
    return jsonStream(new ListStream(list.chunks.values(), this.config.listTimeout, () => this.cache.release(list)));
  }

  /** Counts a stream that ends with an error. A client that disconnects is no error. */
  private counted(body: ListBody, request: FastifyRequest): ListBody {
    if (!(body instanceof StreamableFile)) return body;
    const route = { route: routeOf(request) };
    // The counter starts at 0, so that the first cut is an increase.
    this.metrics.cutOffLists.inc(route, 0);
    body.getStream().once('error', () => this.metrics.cutOffLists.inc(route));
    return body;
  }
}

/** Counts a chunk twice: one chunk waits in the socket while the next one is made. */
function countChunk({ raw }: FastifyReply, { length }: Buffer): void {
  if (raw instanceof TrackedResponse) raw.httpConnection.countBuffered(raw, 2 * length);
}

/** The key of a list in the cache: the scope and the URL, because subjects may get different records by one URL. */
function cacheKey({ scopeKey = '' }: ListSource, { url }: FastifyRequest): string {
  return `${scopeKey}${url}`;
}

/** Sets `ETag` and `X-Total-Count`, also of a 304. */
function setListHeaders(
  { scopeKey }: ListSource,
  usage: ResourceUsage,
  selection: Selection,
  reply: FastifyReply,
): void {
  if (scopeKey === undefined && !isFiltered(selection)) reply.header('x-total-count', usage.count);
  reply.header('etag', etagOf(usage));
}

/**
 * The `Link` header (RFC 8288) to the next page; the other query parameters stay.
 * @param target path and query of this request
 * @param last its id, or its cursor
 */
export function nextPageLink(target: string, last: number | string): string {
  const url = targetOf({ url: target });
  url.searchParams.set('after', String(last));
  return `<${url.pathname}${url.search}>; rel="next"`;
}
