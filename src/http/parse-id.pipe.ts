import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { invalidRequest } from './api-error.js';

/**
 * The number that a decimal text without sign, leading zeros or other notation stands for; `undefined` for anything else
 * and beyond 2^53-1, where numbers stop being exact.
 */
export function parseNatural(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** `@Param('id', ParseIdPipe)`: the record number in a path, from 1 to 2^53-1; anything else is 400. */
@Injectable()
export class ParseIdPipe implements PipeTransform<string, number> {
  transform(value: string, { data = 'id' }: ArgumentMetadata): number {
    const id = parseNatural(value);
    if (id === undefined || id === 0) {
      throw invalidRequest([{ parameter: data, message: 'must be a whole number from 1 to 9007199254740991' }]);
    }
    return id;
  }
}
