import { protocolErrorResponse } from '../errors/error-response.js';
import type { BufferBudget } from './buffer-budget.js';
import { type RequestEnd, type RequestListener, recordOf } from './request-record.js';
import type { TrackedResponse } from './tracked-response.js';

/** Milliseconds for which a handler may go on after its client has left, until its request is recorded without a status. */
const ORPHAN_TIMEOUT = 60_000;

/** The requests of all connections: how many are in flight, what their responses hold in memory, and how each of them ends. */
export class RequestTracker {
  private readonly listeners: RequestListener[] = [];
  /** Requests whose client has left while their handler was at work. */
  private readonly orphans = new Set<TrackedResponse>();
  private started = 0;

  constructor(private readonly budget: BufferBudget) {}

  /** Requests that have been handed on and not ended. */
  get inFlight(): number {
    return this.started;
  }

  /** Adds a listener that is called once for every request, when it ends. */
  onEnd(listener: RequestListener): void {
    this.listeners.push(listener);
  }

  /** Notes how many bytes of a response wait in memory now. */
  countBuffered(response: TrackedResponse, bytes: number): void {
    // A list may have read its next chunk while its client left: nobody would give these bytes back.
    if (response.isRecorded) return;
    this.budget.add(bytes - response.bufferedBytes);
    response.bufferedBytes = bytes;
  }

  start(): void {
    this.started += 1;
  }

  /** Logs and measures a request; a second end of it is ignored. */
  end(response: TrackedResponse, end: RequestEnd): void {
    if (response.isRecorded) return;
    this.countBuffered(response, 0);
    response.isRecorded = true;
    if (end !== 'dropped') this.started -= 1;
    const record = recordOf(response);
    for (const listener of this.listeners) listener(record, end);
  }

  /** The connection has closed before the response was sent. A handler that is still at work is waited for: its status counts. */
  cutOff(response: TrackedResponse): void {
    const isAtWork = response.reply !== undefined && !response.isAnswered && !response.headersSent;
    if (!isAtWork) this.end(response, 'cut off');
    else this.orphans.add(response);
  }

  /** The handler of a request whose client has left is done. */
  endOrphan(response: TrackedResponse): void {
    this.orphans.delete(response);
    this.end(response, 'cut off');
  }

  /** Ends what handlers have kept for too long after their clients have left. */
  endLateOrphans(now: number): void {
    for (const response of this.orphans) {
      if (now - response.startedAt > ORPHAN_TIMEOUT) this.endOrphan(response);
    }
  }

  /** Logs and measures a response to what was no request to Node. */
  recordRaw(error: Error, id: string, method = 'unknown', address?: string): void {
    const { status } = protocolErrorResponse(error, id);
    const record = { requestId: id, method, route: 'unknown', status, milliseconds: 0, address };
    for (const listener of this.listeners) listener(record, 'sent');
  }
}
