import { type IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

/** What a response asks of its connection. */
export interface ResponseConnection {
  /** Kept, because a closed socket has none. */
  readonly address: string | undefined;
  readonly hasClosed: boolean;
  /** Notes how much of a response that is made piece by piece waits in memory now. */
  countBuffered(response: TrackedResponse, bytes: number): void;
  /** To be called when the response of the current request has been handed to the operating system. */
  responseSent(response: TrackedResponse): void;
}

/** Whether a request is here with its body. Node says so of one without a body a moment after it has handed it over. */
export function hasArrived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0));
}

/** Node's response with what its connection, the log and the metrics note of it. */
export class TrackedResponse extends ServerResponse {
  declare httpConnection: ResponseConnection;
  /** Fastify's reply, once it has taken the request. */
  reply?: FastifyReply;
  /** When its request was handed on, on the clock of `performance.now()`. */
  startedAt = 0;
  /** Bytes of its body that wait in memory, as far as they count to the budget. */
  bufferedBytes = 0;
  /** Whether its status is final. */
  isAnswered = false;
  /** Whether its request has been logged and measured. */
  isRecorded = false;
  /** The error to respond with, instead of handing the request on. */
  rejection?: Error;
}
