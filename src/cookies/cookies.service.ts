import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Preconditions } from '../resource/preconditions.js';
import type { Account, Version } from '../storage/resource-storage.js';
import type { CookieRecord, CookieSelection, CookiesSnapshot } from './cookies-snapshot.js';
import { CookiesRepository, type StoredCookie } from './cookies.repository.js';
import type { CreateCookieDto } from './dto/create-cookie.dto.js';
import type { PatchCookieDto } from './dto/patch-cookie.dto.js';
import type { ReplaceCookieDto } from './dto/replace-cookie.dto.js';
import { CookieNotFoundError } from './errors.js';

/**
 * What can be done with cookies. Every method may also throw `DatabaseUnavailableError`, and every write `DiskFullError`;
 * nothing has changed then. After `OutcomeUnknownError`, which every write may throw, nobody knows.
 */
@Injectable()
export class CookiesService {
  constructor(
    private readonly cookies: CookiesRepository,
    private readonly config: Config,
  ) {}

  /** @throws {CookieNotFoundError} */
  async get(id: number): Promise<StoredCookie> {
    return found(id, await this.cookies.findOne(id));
  }

  /** The version of the list of all cookies, and how many there are. */
  account(): Promise<Account> {
    return this.cookies.account();
  }

  /**
   * Lets `read` read all cookies as they are at this moment, and again when the connection breaks: it must close what it is
   * given, and have sent nothing to the client when it rejects.
   */
  readSnapshot<T>(read: (snapshot: CookiesSnapshot) => Promise<T>): Promise<T> {
    return this.cookies.readSnapshot(read);
  }

  /** @throws {StorageFullError} when as many cookies are stored as may be */
  create({ flavor, size, wish }: CreateCookieDto): Promise<StoredCookie> {
    return this.cookies.create({ flavor, size, wish });
  }

  /**
   * Replaces flavor and size; the wish stays.
   * @throws {CookieNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async replace(id: number, { flavor, size }: ReplaceCookieDto, preconditions: Preconditions): Promise<StoredCookie> {
    return found(id, await this.cookies.update(id, { flavor, size }, this.check(preconditions)));
  }

  /**
   * Changes the members that are present.
   * @throws {CookieNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async patch(id: number, changes: PatchCookieDto, preconditions: Preconditions): Promise<StoredCookie> {
    return found(id, await this.cookies.update(id, changes, this.check(preconditions)));
  }

  /**
   * Deletes a cookie and frees its place.
   * @throws {CookieNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  async delete(id: number, preconditions: Preconditions): Promise<void> {
    if (!(await this.cookies.delete(id, this.check(preconditions)))) throw new CookieNotFoundError(id);
  }

  private check(preconditions: Preconditions): (current: Version) => void {
    return (current) => preconditions.checkWrite(current, this.config.requireIfMatch);
  }
}

function found(id: number, cookie: StoredCookie | undefined): StoredCookie {
  if (cookie === undefined) throw new CookieNotFoundError(id);
  return cookie;
}

export type { Account, CookieRecord, CookieSelection, CookiesSnapshot };
