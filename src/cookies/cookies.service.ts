import { Injectable } from '@nestjs/common';
import { Config } from '../config/config.js';
import type { Sql } from '../database/sql.js';
import type { ListSource } from '../resource/lists/resource-lists.js';
import type { Preconditions } from '../resource/preconditions.js';
import { ResourceService } from '../resource/resource-service.js';
import type { StoredRecord } from '../resource/store/resource-entity.js';
import type { ResourceTransaction } from '../resource/store/resource-transaction.js';
import type { Cookie } from './cookie.entity.js';
import { COOKIE } from './cookie.values.js';
import { CookiesRepository } from './cookies.repository.js';
import type { CreateCookieDto } from './dto/create-cookie.dto.js';
import type { PatchCookieDto } from './dto/patch-cookie.dto.js';
import type { ReplaceCookieDto } from './dto/replace-cookie.dto.js';

/**
 * What can be done with cookies. Every method may also throw `DatabaseUnavailableError`, and every write `DiskFullError`;
 * nothing has changed then. After `OutcomeUnknownError`, which every write may throw, nobody knows.
 */
@Injectable()
export class CookiesService {
  private readonly records: ResourceService<Cookie>;

  constructor({ store }: CookiesRepository, config: Config) {
    this.records = new ResourceService(COOKIE, store, config);
  }

  /** What lists of cookies are made from. */
  get source(): ListSource {
    return this.records;
  }

  /** What can be done with cookies in a transaction of another feature. */
  in(transaction: Sql): ResourceTransaction<Cookie> {
    return this.records.in(transaction);
  }

  /** @throws {ResourceNotFoundError} */
  get(id: number): Promise<StoredRecord<Cookie>> {
    return this.records.get(id);
  }

  /** @throws {StorageFullError} when as many cookies are stored as may be */
  create(cookie: CreateCookieDto): Promise<StoredRecord<Cookie>> {
    return this.records.create(cookie);
  }

  /**
   * Replaces flavor and size; the wish stays.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  replace(id: number, cookie: ReplaceCookieDto, preconditions: Preconditions): Promise<StoredRecord<Cookie>> {
    return this.records.update(id, cookie, preconditions);
  }

  /**
   * Changes the properties that are present.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  patch(id: number, changes: PatchCookieDto, preconditions: Preconditions): Promise<StoredRecord<Cookie>> {
    return this.records.update(id, changes, preconditions);
  }

  /**
   * Deletes a cookie and frees its place.
   * @throws {ResourceNotFoundError}
   * @throws {ApiError} 412 or 428 when the preconditions do not hold
   */
  delete(id: number, preconditions: Preconditions): Promise<void> {
    return this.records.delete(id, preconditions);
  }
}
