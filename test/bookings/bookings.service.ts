import { Injectable } from '@nestjs/common';
import type { Sql } from '../../src/database/engine.js';
import { ApiError } from '../../src/http/errors/api-error.js';
import { type DescribedError, exampleOf } from '../../src/openapi/documented-errors.js';
import type { Preconditions } from '../../src/resource/preconditions.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { Booking, Table } from './booking.entity.js';

/** Milliseconds. */
const HOUR = 3_600_000;

function alreadySeated(id: number): ApiError {
  return new ApiError(409, 'ALREADY_SEATED', `The guests of booking ${id} are seated`);
}

export const ALREADY_SEATED: DescribedError = {
  status: 409,
  description: 'The guests are seated',
  examples: { seated: exampleOf(alreadySeated(1)) },
};

@Injectable()
export class TablesService {
  constructor(@InjectResource(Table) readonly records: ResourceRepository<Table>) {}
}

@Injectable()
export class BookingsService {
  /** The bookings that clients see. */
  readonly records: ResourceRepository<Booking>;

  /** @param all deleted ones, too */
  constructor(@InjectResource(Booking) readonly all: ResourceRepository<Booking>) {
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

  /** Cancels the bookings of a table, in a transaction of the caller. The triggers of the table keep versions and lists right. */
  cancelOfTable(tableId: number, transaction: Sql): Promise<unknown> {
    return transaction.sql`
      UPDATE bookings SET status = 'cancelled' WHERE "tableId" = ${tableId} AND status = 'booked'`;
  }

  /** Deletes some that have been in the bin for 30 days. Returns whether there may be more. */
  async purge(transaction: Sql): Promise<boolean> {
    const bookings = this.all.in(transaction);
    const before = new Date(Date.now() - 30 * 24 * HOUR);
    const old = await bookings.findSome({ ranges: { deletedAt: { to: before } } }, 100);
    await bookings.deleteAll(old);
    return old.length > 0;
  }

  restore(id: number, preconditions?: Preconditions) {
    return this.all.update(id, { deletedAt: null }, preconditions);
  }
}
