import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { type Waiter, WaitQueue } from '../../database/wait-queue.js';
import { overloaded } from '../../http/errors/api-error.js';
import { subjectOf } from './list-readers.js';

/** The lists of one subject that are being made, and those that wait. */
class SubjectLists {
  inProgress = 0;
  readonly waiting: WaitQueue<ListWaiter>;

  constructor(timeout: number) {
    this.waiting = new WaitQueue(timeout, () =>
      overloaded(`The list has waited ${timeout} ms for others of this subject; try again`),
    );
  }
}

interface ListWaiter extends Waiter {
  readonly start: () => void;
}

/**
 * Lets few lists be made at once: pages, and the beginnings of longer lists. Subjects take turns, and none has all places,
 * so that nobody waits for what another asks without end. A request that waits holds neither a snapshot nor a response.
 */
@Injectable()
export class ListQueue {
  private free: number;
  private readonly subjectShare: number;
  private readonly timeout: number;
  /** In the order of their turns. */
  private readonly subjects = new Map<string, SubjectLists>();

  constructor({ listsInProgress, database }: Config) {
    this.free = listsInProgress;
    this.subjectShare = Math.max(1, listsInProgress - Math.ceil(listsInProgress / 4));
    this.timeout = database.busyTimeout;
  }

  /** Subjects whose lists are being made, or wait. */
  get subjectCount(): number {
    return this.subjects.size;
  }

  /**
   * Runs `make` when it is the turn of the subject that asks.
   * @throws {ApiError} 503 when that takes longer than `DATABASE_BUSY_TIMEOUT`
   */
  async run<T>(request: FastifyRequest, make: () => Promise<T>): Promise<T> {
    const subject = subjectOf(request);
    const lists = this.listsOf(subject);
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

  private listsOf(subject: string): SubjectLists {
    const known = this.subjects.get(subject);
    if (known !== undefined) return known;
    const lists = new SubjectLists(this.timeout);
    this.subjects.set(subject, lists);
    return lists;
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
      // Behind all others.
      this.subjects.delete(subject);
      this.subjects.set(subject, lists);
      this.begin(lists);
      return lists.waiting.shift()!.start();
    }
  }
}
