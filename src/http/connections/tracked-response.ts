import { type IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { requestId } from '../messages/request.js';

/** The connection as its responses see it. */
export interface ResponseConnection {
  /** The client's address; a closed socket no longer has it. */
  readonly address: string | undefined;
  readonly hasClosed: boolean;
  /** Sets how many bytes of a streamed response are buffered now. */
  countBuffered(response: TrackedResponse, bytes: number): void;
  /** To be called when the operating system has accepted the whole response. */
  responseSent(response: TrackedResponse): void;
}

/** Whether a request has arrived with its body. Node sets `complete` of a request without a body a moment too late. */
export function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/** Node's response with the state that the connection, the log and the metrics need. */
export class TrackedResponse extends ServerResponse {
  declare httpConnection: ResponseConnection;
  /** Fastify's reply, once Fastify has received the request. */
  reply?: FastifyReply;
  /** When the request was passed to Fastify, on the clock of `performance.now()`. */
  startedAt = 0;
  /** Buffered bytes of the body, as counted in the budget. */
  bufferedBytes = 0;
  /** Whether the status is final. */
  isAnswered = false;
  /** Whether the request has been logged and measured. */
  isRecorded = false;
  /** The error to send instead of passing the request to Fastify. */
  rejection?: Error;
  private ownId?: string;

  /** The id of the request, in the response and in the log. */
  get requestId(): string {
    if (this.reply !== undefined) return this.reply.request.id;
    this.ownId ??= requestId(this.req);
    return this.ownId;
  }
}
