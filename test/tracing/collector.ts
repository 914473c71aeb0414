import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { type LocalServer, startServer } from '../support/local-server.js';

/** A span in the JSON of OTLP 1, with its attributes by name. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly links: readonly { readonly spanId: string }[];
  /** Code 2 is an error. */
  readonly status: { readonly code: number };
  readonly attributes: Readonly<Record<string, any>>;
  readonly resource: Readonly<Record<string, any>>;
  readonly scope: string;
}

/** A collector of OpenTelemetry in the test process: OTLP over HTTP. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[] = [];

  private server!: LocalServer;

  /** @param respond replaces the response, for tests of a faulty collector */
  static async start(respond: (response: ServerResponse) => void = (response) => response.end('{}')) {
    const collector = new Collector();
    collector.server = await startServer(
      (request, response) => void collector.collect(request).then(() => respond(response)),
    );
    return collector;
  }

  get url(): string {
    return this.server.url;
  }

  named(name: string): CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The spans directly below this one. */
  below({ traceId, spanId }: CollectedSpan): CollectedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }

  private async collect(request: IncomingMessage): Promise<void> {
    this.requests.push({ path: request.url!, headers: request.headers });
    if (request.method !== 'POST') return;
    const { resourceSpans } = (await json(request)) as any;
    for (const { resource, scopeSpans } of resourceSpans) {
      for (const { scope, spans } of scopeSpans) {
        const common = { resource: byName(resource.attributes), scope: scope.name };
        for (const span of spans) this.spans.push({ ...span, ...common, attributes: byName(span.attributes) });
      }
    }
  }
}

const byName = (pairs: any[]): object => Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));

const plain = (value: any): unknown => value.arrayValue?.values.map(plain) ?? Object.values(value)[0];
