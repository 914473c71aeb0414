import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { parseNatural } from './query-values.js';

/** The message for a value that is not a record id. */
export const NOT_AN_ID = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;

/** `@Param('id', ParseIdPipe)`: the record id in a path, from 1 to 2^53-1; any other value is 400. */
@Injectable()
export class ParseIdPipe implements PipeTransform<string, number> {
  transform(value: string, { data = 'id' }: ArgumentMetadata): number {
    const id = parseNatural(value);
    if (id === undefined || id === 0) throw invalidId(data);
    return id;
  }
}

/** 400 for an invalid record id in a path. */
export function invalidId(parameter: string): ApiError {
  return invalidRequest([{ parameter, message: NOT_AN_ID }]);
}
