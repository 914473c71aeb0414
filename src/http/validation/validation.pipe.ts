import { setImmediate } from 'node:timers/promises';
import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { invalidRequest } from '../errors/api-error.js';
import { emptyBody, RawBody } from '../body/raw-body.js';
import { parameterDetail, propertyDetail, toDto, validObject } from './validate.js';

/**
 * Validates bodies, queries and path parameters with Nest's `ValidationPipe` and the DTO class of the argument. It coerces
 * no value, and rejects undeclared properties, also in nested DTOs. `RouteCheck` rejects other types of arguments at start.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    if (type === 'body') return this.body(value, isDtoType(metatype) ? metatype : undefined);
    if ((type === 'query' || type === 'param') && data === undefined && isDtoType(metatype)) {
      return toDto(metatype, { ...(value as object) }, parameterDetail);
    }
    return value;
  }

  // Nest runs the pipes of all arguments concurrently and sends the first error. Errors of the path and the query come first.
  private async body(value: unknown, dto: Type | undefined): Promise<unknown> {
    const body = value instanceof RawBody ? value.json() : Promise.reject(emptyBody());
    await Promise.allSettled([body, setImmediate()]);
    const parsed = await body;
    return dto === undefined ? parsed : validObject(dto, parsed);
  }
}

/** Largest number of items in a body that is an array; `BODY_LIMIT` allows about as many. */
const MOST_ITEMS = 1000;

/** `@Body(arrayOf(ItemDto)) items: ItemDto[]`: a body that is an array of DTOs. TypeScript emits only `Array` as its type. */
export function arrayOf(dto: Type): PipeTransform<unknown, Promise<object[]>> {
  return {
    async transform(parsed) {
      if (!Array.isArray(parsed) || parsed.length > MOST_ITEMS) {
        throw invalidRequest([{ pointer: '', message: `must be an array of at most ${MOST_ITEMS} items` }]);
      }
      const items: object[] = [];
      for (const [index, item] of (parsed as unknown[]).entries()) {
        if (typeof item !== 'object' || item === null || Array.isArray(item)) {
          throw invalidRequest([{ pointer: `/${index}`, message: 'must be an object' }]);
        }
        items.push(await toDto(dto, item, propertyDetail, [String(index)]));
      }
      return items;
    },
  };
}

const NO_DTO: readonly unknown[] = [String, Number, Boolean, BigInt, Symbol, Array, Object, Buffer, Date, Promise];

/** Whether the declared type is a DTO class, not an interface or a class of JavaScript. */
export function isDtoType(metatype: unknown): metatype is Type {
  return typeof metatype === 'function' && !NO_DTO.includes(metatype);
}
