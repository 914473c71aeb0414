import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { parseNatural } from './parse-natural.js';

/** What is wrong with a value that is no record number. */
export const NOT_AN_ID = `must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}`;

/** `@Param('id', ParseIdPipe)`: the record number in a path, from 1 to 2^53-1; anything else is 400. */
@Injectable()
export class ParseIdPipe implements PipeTransform<string, number> {
  transform(value: string, { data = 'id' }: ArgumentMetadata): number {
    const id = parseNatural(value);
    if (id === undefined || id === 0) {
      throw invalidId(data);
    }
    return id;
  }
}

/** 400 for the parameter of a path. */
export function invalidId(parameter: string): ApiError {
  return invalidRequest([{ parameter, message: NOT_AN_ID }]);
}
