import { ApiError, invalidRequest } from '../../src/http/errors/api-error.js';
import { describedError } from '../../src/openapi/documented-errors.js';
import type { Rule } from '../../src/resource/resource.js';
import type { Outing } from './outing.entity.js';

const sleighTaken = (id: number): ApiError =>
  new ApiError(409, 'SLEIGH_TAKEN', `Outing ${id} has the sleigh at that time`, {
    details: [{ pointer: '/startsAt', message: `overlaps with outing ${id}` }],
  });

/** An outing ends after it starts. A sleigh has at most one booked outing at a time. */
export const OUTING_RULE: Rule<Outing> = {
  async check({ after: { id, sleighId, startsAt, endsAt, status, deletedAt } }, transaction) {
    if (endsAt <= startsAt) throw invalidRequest([{ pointer: '/endsAt', message: 'must be after startsAt' }]);
    if (status !== 'booked' || deletedAt) return;
    const [other] = await transaction.sql<{ id: number }[]>`
      SELECT id FROM outings
      WHERE "sleighId" = ${sleighId} AND "startsAt" < ${endsAt} AND "endsAt" > ${startsAt}
        AND status = 'booked' AND "deletedAt" IS NULL AND id <> ${id} LIMIT 1`;
    if (other !== undefined) throw sleighTaken(other.id);
  },
};

export const SLEIGH_TAKEN = describedError(sleighTaken(1), 'Another outing has the sleigh at that time');
