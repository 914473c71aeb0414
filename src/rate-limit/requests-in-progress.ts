import type { ServerResponse } from 'node:http';
import { rateLimited } from './rate-limit-errors.js';

/** Counts the requests of each subject that have no complete response yet, in this process. */
export class RequestsInProgress {
  /** Most requests of one subject; `undefined` for no limit. */
  most?: number;
  private readonly counts = new Map<string, number>();
  private readonly counted = new WeakSet<ServerResponse>();

  /**
   * Counts a request until its response is sent or its connection closes. A repeated call for one response counts once.
   * @throws {ApiError} 429 if the subject has as many already
   */
  add(subject: string, response: ServerResponse): void {
    if (this.most === undefined || response.closed || this.counted.has(response)) return;
    const count = this.counts.get(subject) ?? 0;
    if (count >= this.most) throw rateLimited(`This subject has ${count} requests in progress; wait for a response`, 1);
    this.counts.set(subject, count + 1);
    this.counted.add(response);
    response.once('close', () => this.remove(subject));
  }

  private remove(subject: string): void {
    const left = this.counts.get(subject)! - 1;
    if (left > 0) this.counts.set(subject, left);
    else this.counts.delete(subject);
  }
}
