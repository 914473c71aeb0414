import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { subjectOf } from '../../auth/principal.js';
import { Config } from '../../config/config.js';
import { overloaded } from '../../http/errors/api-error.js';
import { clientKey } from '../../http/messages/request.js';

/** Milliseconds a reader may pause while another request waits for its slot. */
const PAUSE = 1000;

interface ListReader {
  readonly subject: string;
  readonly address: string;
  readonly cutOff: () => void;
  /** Time of the last chunk that the client received, on the clock of `performance.now()`. */
  readAt: number;
}

/**
 * The readers of long lists. Each keeps one of few database snapshots open, so there is a limit for a subject. When all
 * slots are taken, a new reader gets the slot of the slowest reader of the address with the most readers, if that has
 * at least two more than its own address. Otherwise it gets the slot of a paused reader whose address has no fewer
 * readers.
 */
@Injectable()
export class ListReaders {
  private readonly readers = new Set<ListReader>();
  private readonly most = this.config.listStreams;
  private readonly subjectShare = Math.max(1, this.most - Math.ceil(this.most / 4));

  constructor(private readonly config: Config) {}

  get count(): number {
    return this.readers.size;
  }

  /**
   * @param cutOff ends the list when another reader gets the slot
   * @throws {ApiError} 503 when no slot is free and no reader gives way
   */
  admit(request: FastifyRequest, cutOff: () => void): ListReader {
    const newcomer = { subject: subjectOf(request), address: clientKey(request), cutOff, readAt: performance.now() };
    const readers = [...this.readers];
    const ofSubject = readers.filter(({ subject }) => subject === newcomer.subject);
    if (ofSubject.length >= this.subjectShare) {
      this.makeRoom(ofSubject, PAUSE, `${this.subjectShare} long lists are read with this subject already`);
    } else if (readers.length >= this.most) {
      const countAt = (place: string): number => readers.filter(({ address }) => address === place).length;
      const own = countAt(newcomer.address);
      const largest = Math.max(...readers.map(({ address }) => countAt(address)));
      const isUnfair = largest > own + 1;
      const candidates = readers.filter(({ address }) => countAt(address) >= (isUnfair ? largest : own));
      this.makeRoom(candidates, isUnfair ? 0 : PAUSE, `${this.most} long lists are read already`);
    }
    this.readers.add(newcomer);
    return newcomer;
  }

  leave(reader: ListReader): void {
    this.readers.delete(reader);
  }

  /** Disconnects the slowest candidate if it has received nothing for `pause` milliseconds. */
  private makeRoom(candidates: readonly ListReader[], pause: number, message: string): void {
    const slowest = candidates.reduce((a, b) => (a.readAt <= b.readAt ? a : b));
    if (performance.now() - slowest.readAt < pause) throw overloaded(`${message}; try again`);
    this.leave(slowest);
    slowest.cutOff();
  }
}
