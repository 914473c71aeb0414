import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { subjectOf } from '../../auth/principal.js';
import { Config } from '../../config/config.js';
import { type Waiter, WaitQueue } from '../../database/wait-queue.js';
import { ApiError, overloaded } from '../../http/errors/api-error.js';

type ListWaiter = Waiter & { readonly start: () => void };

class SubjectLists {
  inProgress = 0;
  readonly pages = this.waitQueue();
  readonly wholeLists = this.waitQueue();

  constructor(private readonly timeout: number) {}

  get waitingCount(): number {
    return this.pages.size + this.wholeLists.size;
  }

  private waitQueue(): WaitQueue<ListWaiter> {
    const message = `The list has waited ${this.timeout} ms for other lists; try again`;
    return new WaitQueue(this.timeout, () => overloaded(message));
  }
}

/**
 * Limits how many pages and beginnings of long lists are read at the same time. Subjects are served round-robin, none
 * with all slots. Every other free slot goes to a waiting page. A waiting request holds no snapshot.
 */
@Injectable()
export class ListQueue {
  private free = this.config.listsInProgress;
  private readonly subjectShare = Math.max(1, this.free - Math.ceil(this.free / 4));
  /** The subjects with a running or waiting list, in round-robin order. */
  private readonly subjects = new Map<string, SubjectLists>();
  private isPageNext = false;

  constructor(private readonly config: Config) {}

  get subjectCount(): number {
    return this.subjects.size;
  }

  /**
   * Runs `make` in the next free slot of the subject.
   * @param isPage whether the list has a `limit`
   * @throws {ApiError} 503 when that takes longer than `DATABASE_BUSY_TIMEOUT`
   */
  async run<T>(request: FastifyRequest, isPage: boolean, make: () => Promise<T>): Promise<T> {
    const subject = subjectOf(request);
    const lists = this.subjects.get(subject) ?? new SubjectLists(this.config.database.busyTimeout);
    this.subjects.set(subject, lists);
    if (this.free > 0 && lists.inProgress < this.subjectShare) this.begin(lists);
    else {
      const waiting = isPage ? lists.pages : lists.wholeLists;
      await new Promise<void>((start, reject) => waiting.push({ start, reject }));
    }
    try {
      // A 503 would be logged as a problem of the service.
      if (request.socket.destroyed) throw new ApiError(400, 'BAD_REQUEST', 'The client left before its list was read');
      return await make();
    } finally {
      lists.inProgress -= 1;
      this.free += 1;
      this.forgetIdle();
      this.startNext();
    }
  }

  /** Forgets subjects without lists. A subject whose list has timed out stays until a list in progress ends. */
  private forgetIdle(): void {
    for (const [subject, { inProgress, waitingCount }] of this.subjects) {
      if (inProgress === 0 && waitingCount === 0) this.subjects.delete(subject);
    }
  }

  private begin(lists: SubjectLists): void {
    lists.inProgress += 1;
    this.free -= 1;
  }

  private startNext(): void {
    this.isPageNext = !this.isPageNext;
    const waiting = [...this.subjects].filter(
      ([, { waitingCount, inProgress }]) => waitingCount > 0 && inProgress < this.subjectShare,
    );
    const withPage = this.isPageNext ? waiting.find(([, { pages }]) => pages.size > 0) : undefined;
    const next = withPage ?? waiting[0];
    if (next === undefined) return;
    const [subject, lists] = next;
    // The subject goes to the end of the round.
    this.subjects.delete(subject);
    this.subjects.set(subject, lists);
    this.begin(lists);
    const { pages, wholeLists } = lists;
    const first = this.isPageNext ? (pages.shift() ?? wholeLists.shift()) : (wholeLists.shift() ?? pages.shift());
    first!.start();
  }
}
