import { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { Connection } from './connection.js';

/** Node's response with what its connection, the log and the metrics note of it. */
export class TrackedResponse extends ServerResponse {
  declare httpConnection: Connection;
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
  /** What is answered instead of handing the request on. */
  rejection?: Error;
}
