import { Injectable } from '@nestjs/common';
import { ApiError } from '../../src/http/errors/api-error.js';
import { type DescribedError, exampleOf } from '../../src/openapi/documented-errors.js';
import type { Preconditions } from '../../src/resource/preconditions.js';
import { InjectResource } from '../../src/resource/resource.module.js';
import { ResourceRepository } from '../../src/resource/store/resource-repository.js';
import { Booking, Table } from './booking.entity.js';

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

  restore(id: number, preconditions?: Preconditions) {
    return this.all.update(id, { deletedAt: null }, preconditions);
  }
}
