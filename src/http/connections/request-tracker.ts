import { protocolErrorResponse } from '../errors/error-response.js';
import type { BufferBudget } from './buffer-budget.js';
import { type RequestEnd, type RequestListener, recordOf } from './request-record.js';
import type { TrackedResponse } from './tracked-response.js';

/** Milliseconds that a handler may run on after its client has disconnected; then its request is recorded without a status. */
const ORPHAN_TIMEOUT = 60_000;

/** The requests of all connections: counts those in flight and their buffered bytes, and records each end once. */
export class RequestTracker {
  /** Requests that were passed to Fastify and have not ended. */
  inFlight = 0;
  private readonly listeners: RequestListener[] = [];
  /** Requests whose client has disconnected while their handler runs. */
  private readonly orphans = new Set<TrackedResponse>();

  constructor(private readonly budget: BufferBudget) {}

  /** Adds a listener that is called once for each request, when it ends. */
  onEnd(listener: RequestListener): void {
    this.listeners.push(listener);
  }

  /** Sets how many bytes of a response are buffered now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    // A list may produce its next chunk after its client has disconnected; nothing would subtract these bytes again.
    if (response.isRecorded) return;
    this.budget.bytes += bytes - response.bufferedBytes;
    response.bufferedBytes = bytes;
  }

  /** Logs and measures a request; a second end of it is ignored. */
  end(response: TrackedResponse, end: RequestEnd): void {
    if (response.isRecorded) return;
    this.countBuffered(response, 0);
    response.isRecorded = true;
    if (end !== 'dropped') this.inFlight -= 1;
    const record = recordOf(response);
    for (const listener of this.listeners) listener(record, end);
  }

  /** Handles a connection that closed before the response was sent. A running handler goes on, and its status is recorded. */
  cutOff(response: TrackedResponse): void {
    const isRunning = response.reply !== undefined && !response.isAnswered && !response.headersSent;
    if (isRunning) this.orphans.add(response);
    else this.end(response, 'cut off');
  }

  /** Ends a request whose client has disconnected. */
  endOrphan(response: TrackedResponse): void {
    this.orphans.delete(response);
    this.end(response, 'cut off');
  }

  /** Ends the requests whose handlers run longer than `ORPHAN_TIMEOUT`. */
  endLateOrphans(now: number): void {
    for (const response of this.orphans) {
      if (now - response.startedAt > ORPHAN_TIMEOUT) this.endOrphan(response);
    }
  }

  /** Logs and measures the response to bytes that Node's parser rejected, or to CONNECT. */
  recordRaw(error: Error, id: string, method = 'unknown', address?: string): void {
    const { status } = protocolErrorResponse(error, id);
    const record = { requestId: id, method, route: 'unknown', status, milliseconds: 0, address };
    for (const listener of this.listeners) listener(record, 'sent');
  }
}
