import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { subjectOf } from '../../auth/principal.js';
import { Config } from '../../config/config.js';
import { type Waiter, WaitQueue } from '../../database/wait-queue.js';
import { overloaded } from '../../http/errors/api-error.js';

/** The running and waiting lists of one subject. */
class SubjectLists {
  inProgress = 0;
  readonly waiting = new WaitQueue<Waiter & { readonly start: () => void }>(this.timeout, () =>
    overloaded(`The list has waited ${this.timeout} ms for other lists of this subject; try again`),
  );

  constructor(private readonly timeout: number) {}
}

/**
 * Limits how many pages and beginnings of long lists are read at the same time. Subjects are served round-robin, and no
 * subject gets all slots. A waiting request holds neither a snapshot nor a response.
 */
@Injectable()
export class ListQueue {
  private free = this.config.listsInProgress;
  private readonly subjectShare = Math.max(1, this.free - Math.ceil(this.free / 4));
  /** Round-robin order. */
  private readonly subjects = new Map<string, SubjectLists>();

  constructor(private readonly config: Config) {}

  /** Subjects with a running or waiting list. */
  get subjectCount(): number {
    return this.subjects.size;
  }

  /**
   * Runs `make` in the next free slot of the subject.
   * @throws {ApiError} 503 when that takes longer than `DATABASE_BUSY_TIMEOUT`
   */
  async run<T>(request: FastifyRequest, make: () => Promise<T>): Promise<T> {
    const subject = subjectOf(request);
    const lists = this.subjects.get(subject) ?? new SubjectLists(this.config.database.busyTimeout);
    this.subjects.set(subject, lists);
    try {
      if (this.free > 0 && lists.inProgress < this.subjectShare) this.begin(lists);
      else await new Promise<void>((resolve, reject) => lists.waiting.push({ start: resolve, reject }));
    } catch (error) {
      this.forgetIdle(subject, lists);
      throw error;
    }
    try {
      if (request.socket.destroyed) throw overloaded('The client has left before its list could be read');
      return await make();
    } finally {
      lists.inProgress -= 1;
      this.free += 1;
      this.forgetIdle(subject, lists);
      this.startNext();
    }
  }

  private forgetIdle(subject: string, { inProgress, waiting }: SubjectLists): void {
    if (inProgress === 0 && waiting.size === 0) this.subjects.delete(subject);
  }

  private begin(lists: SubjectLists): void {
    lists.inProgress += 1;
    this.free -= 1;
  }

  private startNext(): void {
    for (const [subject, lists] of this.subjects) {
      if (lists.waiting.size === 0 || lists.inProgress >= this.subjectShare) continue;
      // The subject goes to the end of the round.
      this.subjects.delete(subject);
      this.subjects.set(subject, lists);
      this.begin(lists);
      return lists.waiting.shift()!.start();
    }
  }
}
