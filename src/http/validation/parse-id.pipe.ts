import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { type ApiError, invalidRequest } from '../errors/api-error.js';
import { NOT_AN_ID, parseNatural } from './query-values.js';

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
export function invalidId(parameter: string, message = NOT_AN_ID): ApiError {
  return invalidRequest([{ parameter, message }]);
}
