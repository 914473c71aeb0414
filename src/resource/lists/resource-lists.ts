import { createHash } from 'node:crypto';
import { Injectable, type StreamableFile } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { repeatRead } from '../../database/engine.js';
import { connectionsOf } from '../../http/connections/connections.js';
import { TrackedResponse } from '../../http/connections/request-tracker.js';
import { routeOf, targetOf } from '../../http/messages/request.js';
import { Metrics } from '../../management/metrics.js';
import type { ResourceExchange } from '../exchange.js';
import { etagOf } from '../preconditions.js';
import type { AnyResourceEntity, Version } from '../resource-entity.js';
import type { ResourceRepository } from '../store/resource-repository.js';
import { PAGE, type ResourceSnapshot } from '../store/resource-snapshot.js';
import type { Selection } from '../store/selection.js';
import type { ResourceUsage } from '../usage/usage-counter.js';
import { arrayChunks, JSON_TYPE, jsonStream, type ListChunks, ListStream, wholeArray } from './json-array.js';
import { type CachedList, ListCache } from './list-cache.js';
import { afterOf, isFiltered, type ListQuery, selectionOf } from './list-declaration.js';
import { ListQueue } from './list-queue.js';
import { ListReaders } from './list-readers.js';

/** A source of lists: a repository, or the records of its `where(...)`. */
type ListSource = Pick<ResourceRepository<AnyResourceEntity>, 'scopeKey' | 'usage' | 'openSnapshot'>;

export type ListBody = Buffer | StreamableFile;

/** Responds to GET of a list: 304, a page with its `Link`, or all records as a stream in bounded memory. */
@Injectable()
export class ResourceLists {
  constructor(
    private readonly cache: ListCache,
    private readonly queue: ListQueue,
    private readonly readers: ListReaders,
    private readonly config: Config,
    private readonly metrics: Metrics,
  ) {}

  /** @throws {ApiError} 412 when `If-Match` does not hold, 503 when too many lists are read */
  async respond(source: ListSource, query: ListQuery, exchange: ResourceExchange): Promise<ListBody | undefined> {
    const { preconditions, request, reply } = exchange;
    const selection = selectionOf(query);
    const selected = JSON.stringify([source.scopeKey, query]);
    const suffix = suffixOf(selected);
    const setHeaders = (usage: ResourceUsage): Version => {
      if (source.scopeKey === undefined && !isFiltered(selection)) reply.header('x-total-count', usage.count);
      const version = { epoch: usage.epoch + suffix, revision: usage.revision };
      reply.header('etag', etagOf(version));
      return version;
    };
    const usage = await source.usage();
    if (preconditions.isNotModified(setHeaders(usage))) {
      reply.code(304);
      return undefined;
    }
    reply.type(JSON_TYPE);
    // Not the URL: it may be long without a meaning, and handlers may change the query for a subject.
    const key = `${targetOf(request).pathname} ${selected}`;
    const cached = this.cache.get(etagOf(usage), key);
    if (cached !== undefined) return this.replay(cached, exchange);
    // The records may have changed since then, so the headers are set again from the snapshot.
    const make = async (): Promise<ListBody> => {
      const snapshot = await source.openSnapshot();
      setHeaders(snapshot.usage);
      return this.make(snapshot, selection, query.limit, key, exchange);
    };
    try {
      return await this.queue.run(request, query.limit !== undefined, () => repeatRead(make));
    } catch (error) {
      // An error response has no version.
      reply.removeHeader('etag').removeHeader('x-total-count');
      throw error;
    }
  }

  /** Makes a Buffer of a page or a short list, otherwise a stream of pages. The snapshot is closed at the end. */
  private async make(
    snapshot: ResourceSnapshot<AnyResourceEntity>,
    selection: Selection,
    limit: number | undefined,
    key: string,
    exchange: ResourceExchange,
  ): Promise<ListBody> {
    const { request, reply } = exchange;
    let isStreamed = false;
    try {
      const first = await snapshot.first(limit ?? PAGE, selection);
      const rest = { ...selection, after: first?.last };
      const hasMore = first?.count === (limit ?? PAGE) && (await snapshot.first(1, rest)) !== undefined;
      if (hasMore && limit === undefined) {
        if (request.method === 'HEAD') return jsonStream();
        const body = this.stream(arrayChunks(first, snapshot.pages(rest)), snapshot, key, exchange);
        isStreamed = true;
        return body;
      }
      const last = hasMore ? afterOf(selection, first.last) : undefined;
      if (last !== undefined) reply.header('link', nextPageLink(request.url, last));
      const body = wholeArray(first?.chunks ?? []);
      this.cache.add(etagOf(snapshot.usage), key, body, last);
      return body;
    } finally {
      if (!isStreamed) snapshot.close();
    }
  }

  /** Streams a list, and collects it for the cache. The client may be cut off, because others need its snapshot. */
  private stream(
    arrayChunks: AsyncIterable<Buffer>,
    snapshot: ResourceSnapshot<AnyResourceEntity>,
    key: string,
    { request, reply: { raw } }: ResourceExchange,
  ): StreamableFile {
    const reader = this.readers.admit(request, () => stream.cutOff());
    const collected = this.cache.collect(etagOf(snapshot.usage), key, arrayChunks);

    async function* chunks(): AsyncGenerator<Buffer> {
      for await (const chunk of collected) {
        // One chunk waits in the socket while the next one is made.
        if (raw instanceof TrackedResponse) connectionsOf(request.server.server).countBuffered(raw, 2 * chunk.length);
        yield chunk;
        reader.readAt = performance.now();
      }
    }

    const stream = this.open(chunks(), request, () => {
      this.readers.leave(reader);
      snapshot.close();
    });
    return jsonStream(stream);
  }

  private replay(list: CachedList, { request, reply }: ResourceExchange): ListBody {
    // Its URL may be another one than that of the request that made the list.
    if (list.last !== undefined) reply.header('link', nextPageLink(request.url, list.last));
    if (list.chunks.length === 1) return list.chunks[0]!;
    if (request.method === 'HEAD') return jsonStream();
    return jsonStream(this.open(list.chunks.values(), request, this.cache.retain(list)));
  }

  /** Opens a stream, and counts it if it ends with an error. A client that disconnects is no error. */
  private open(chunks: ListChunks, request: FastifyRequest, closed: () => void): ListStream {
    const route = { route: routeOf(request) };
    // The counter starts at 0, so that the first cut is an increase.
    this.metrics.cutOffLists.inc(route, 0);
    const stream = new ListStream(chunks, this.config.listTimeout, closed);
    return stream.once('error', () => this.metrics.cutOffLists.inc(route));
  }
}

/**
 * The part of an ETag that names the scope and the query in `selected`; empty for all records. Handlers may set them by
 * the subject of the token, and one subject's ETag must not fit the list of another.
 */
function suffixOf(selected: string): string {
  return selected === '[null,{}]' ? '' : `.${createHash('sha256').update(selected).digest('base64url').slice(0, 12)}`;
}

/** The `Link` (RFC 8288) to the page after an id or a cursor; the other query parameters of the target stay. */
export function nextPageLink(target: string, last: number | string): string {
  const url = targetOf({ url: target });
  url.searchParams.set('after', String(last));
  return `<${url.pathname}${url.search}>; rel="next"`;
}
