import { QueryFailedError } from 'typeorm';

/**
 * A value that its column cannot hold, found before the statement is sent. As with PostgreSQL's error of this code, the
 * response is 404 for a path parameter, otherwise 400. It is no part of `errors.ts`, which commands load without TypeORM.
 */
export class UnstorableValueError extends QueryFailedError {
  constructor(message: string, value?: unknown, column?: string) {
    // PostgreSQL names the parameter of the value in this way; see `constraintViolation`.
    super('', [value], Object.assign(new Error(message), { code: '22P02', column, where: '$1' }));
  }
}
