import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Config } from '../../config/config.js';
import { addressKey } from '../../http/connections/client-address.js';
import { overloaded } from '../../http/errors/api-error.js';

/** Milliseconds for which a reader may take nothing while others wait for its place. */
const PAUSE = 1000;

/** A client that reads a long list, for as long as it does. */
export class ListReader {
  private readAt = performance.now();

  constructor(
    readonly subject: string,
    /** By `addressKey`. */
    readonly address: string,
    /** Ends the list before it is whole. */
    readonly cutOff: () => void,
  ) {}

  /** To be called whenever the client has taken a part. */
  read(): void {
    this.readAt = performance.now();
  }

  pausedFor(now: number): number {
    return now - this.readAt;
  }
}

/**
 * Who reads long lists now. Each reader keeps a snapshot of the database open, of which there are few. So neither a subject
 * nor an address gets all of them. When all places are taken, an address that has more readers than the newcomer's loses the
 * slowest of them, paused or not. A reader that pauses gives its place to a newcomer whose address has no more readers.
 */
@Injectable()
export class ListReaders {
  private readonly readers = new Set<ListReader>();
  private readonly most: number;
  /** The most for one subject. */
  private readonly subjectShare: number;
  /** The most for one address: more, since many subjects may come from it. */
  private readonly addressShare: number;

  constructor({ listStreams }: Config) {
    this.most = listStreams;
    this.subjectShare = Math.max(1, listStreams - Math.ceil(listStreams / 4));
    this.addressShare = Math.max(1, listStreams - Math.ceil(listStreams / 8));
  }

  /** Lists that are being read now. */
  get count(): number {
    return this.readers.size;
  }

  /**
   * @param cutOff ends the list when another reader needs the place
   * @throws {ApiError} 503 when there is no place, and nobody pauses
   */
  admit(request: FastifyRequest, cutOff: () => void): ListReader {
    const newcomer = new ListReader(subjectOf(request), addressKey(request.ip), cutOff);
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

  /** The readers at the address that has most of them. */
  private largestCrowd(): ListReader[] {
    const addresses = new Set([...this.readers].map(({ address }) => address));
    return [...addresses].map((address) => this.readersAt(address)).reduce((a, b) => (a.length >= b.length ? a : b));
  }

  /** Cuts off the slowest of the candidates, when it has taken nothing for `pause` milliseconds. */
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

/** Whose token the request bears: a subject is known by its issuer, too. */
export function subjectOf({ user }: FastifyRequest): string {
  return `${user?.issuer ?? ''} ${user?.subject ?? ''}`;
}
