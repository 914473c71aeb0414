import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import type { Sql } from '../../src/database/engine.js';
import { ApiError } from '../../src/http/errors/api-error.js';
import { describedError } from '../../src/openapi/documented-errors.js';
import { Leases } from '../../src/resource/leases.js';
import type { Preconditions } from '../../src/resource/preconditions.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { Outing, Sleigh } from './outing.entity.js';

/** Milliseconds. */
const HOUR = 3_600_000;

function alreadySeated(id: number): ApiError {
  return new ApiError(409, 'ALREADY_SEATED', `The guests of outing ${id} are seated`);
}

export const ALREADY_SEATED = describedError(alreadySeated(1), 'The guests are seated');

@Injectable()
export class SleighsService {
  constructor(@InjectResource(Sleigh) readonly records: ResourceRepository<Sleigh>) {}
}

@Injectable()
export class OutingsService {
  /** The outings that clients see. */
  readonly records: ResourceRepository<Outing>;

  /** @param all outings, deleted ones included */
  constructor(
    @InjectResource(Outing) readonly all: ResourceRepository<Outing>,
    private readonly leases: Leases,
  ) {
    this.records = all.where({ deletedAt: null });
  }

  cancel(id: number, preconditions?: Preconditions) {
    return this.records.update(
      id,
      ({ status }) => {
        if (status === 'seated') throw alreadySeated(id);
        return { status: 'cancelled' };
      },
      preconditions,
    );
  }

  delete(id: number, preconditions?: Preconditions) {
    return this.records.update(id, { deletedAt: new Date() }, preconditions);
  }

  /** Cancels the outings of a sleigh in a transaction of the caller. Triggers keep versions and lists correct. */
  cancelOfSleigh(sleighId: number, transaction: Sql): Promise<unknown> {
    return transaction.sql`
      UPDATE outings SET status = 'cancelled' WHERE "sleighId" = ${sleighId} AND status = 'booked'`;
  }

  /** Every process tries this each minute from 3:00 to 3:59. One process does the work, or the next if it dies. */
  @Cron('* 3 * * *', { name: 'purge', timeZone: 'Europe/Berlin', waitForCompletion: true })
  async purge(): Promise<void> {
    const before = new Date(Date.now() - 30 * 24 * HOUR);
    await this.leases.run({
      name: 'purge-outings',
      every: 12 * HOUR,
      batch: async (transaction) => {
        const outings = this.all.in(transaction);
        const old = await outings.findSome({ ranges: { deletedAt: { to: before } } }, 100);
        await outings.deleteAll(old);
        return old.length > 0;
      },
    });
  }

  restore(id: number, preconditions?: Preconditions) {
    return this.all.update(id, { deletedAt: null }, preconditions);
  }
}
