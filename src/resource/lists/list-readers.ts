import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { subjectOf } from '../../auth/principal.js';
import { Config } from '../../config/config.js';
import { overloaded } from '../../http/errors/api-error.js';
import { clientKey } from '../../http/messages/request.js';

/** Milliseconds a reader may pause while another request waits for its slot. */
const PAUSE = 1000;

/** A client that reads a long list. */
export class ListReader {
  private readAt = performance.now();

  constructor(
    readonly subject: string,
    /** Result of `clientKey`. */
    readonly address: string,
    /** Disconnects the client. */
    readonly cutOff: () => void,
  ) {}

  /** Call it whenever the client has received a chunk. */
  read(): void {
    this.readAt = performance.now();
  }

  pausedFor(now: number): number {
    return now - this.readAt;
  }
}

/**
 * The readers of long lists. Each keeps one of few database snapshots open, so there are limits for a subject and for
 * an address. When all slots are taken, a new reader gets the slot of the slowest reader of an address with more
 * readers than its own. A paused reader loses its slot to a new reader whose address has no more readers.
 */
@Injectable()
export class ListReaders {
  private readonly readers = new Set<ListReader>();
  private readonly most = this.config.listStreams;
  /** Maximum number of readers of one subject. */
  private readonly subjectShare = Math.max(1, this.most - Math.ceil(this.most / 4));
  /** Maximum number of readers of one address; more than of a subject, because many subjects may share an address. */
  private readonly addressShare = Math.max(1, this.most - Math.ceil(this.most / 8));

  constructor(private readonly config: Config) {}

  /** Number of lists that clients read now. */
  get count(): number {
    return this.readers.size;
  }

  /**
   * @param cutOff ends the list when another reader gets the slot
   * @throws {ApiError} 503 when no slot is free and no reader pauses
   */
  admit(request: FastifyRequest, cutOff: () => void): ListReader {
    const newcomer = new ListReader(subjectOf(request), clientKey(request), cutOff);
    const ofSubject = [...this.readers].filter(({ subject }) => subject === newcomer.subject);
    const ofAddress = this.readersAt(newcomer.address);
    if (ofSubject.length >= this.subjectShare)
      this.makeRoom(ofSubject, PAUSE, `${this.subjectShare} long lists are read with this subject already`);
    if (ofAddress.length >= this.addressShare)
      this.makeRoom(ofAddress, PAUSE, `${this.addressShare} long lists are read from this address already`);
    if (this.readers.size >= this.most) {
      const crowd = this.largestCrowd();
      const isUnfair = crowd.length > ofAddress.length + 1;
      const noFewer = [...this.readers].filter(({ address }) => this.readersAt(address).length >= ofAddress.length);
      const message = `${this.most} long lists are read already`;
      this.makeRoom(isUnfair ? crowd : noFewer, isUnfair ? 0 : PAUSE, message);
    }
    this.readers.add(newcomer);
    return newcomer;
  }

  leave(reader: ListReader): void {
    this.readers.delete(reader);
  }

  private readersAt(address: string): ListReader[] {
    return [...this.readers].filter((reader) => reader.address === address);
  }

  /** The readers of the address with the most readers. */
  private largestCrowd(): ListReader[] {
    const addresses = new Set([...this.readers].map(({ address }) => address));
    return [...addresses].map((address) => this.readersAt(address)).reduce((a, b) => (a.length >= b.length ? a : b));
  }

  /** Disconnects the slowest candidate if it has received nothing for `pause` milliseconds. */
  private makeRoom(candidates: ListReader[], pause: number, message: string): void {
    const now = performance.now();
    const still = candidates.filter((reader) => this.readers.has(reader));
    if (still.length < candidates.length) return;
    const slowest = still.reduce((a, b) => (a.pausedFor(now) >= b.pausedFor(now) ? a : b));
    if (slowest.pausedFor(now) < pause) throw overloaded(`${message}; try again`);
    this.leave(slowest);
    slowest.cutOff();
  }
}
