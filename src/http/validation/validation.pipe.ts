import { setImmediate } from 'node:timers/promises';
import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { invalidRequest } from '../errors/api-error.js';
import { emptyBody, RawBody } from '../body/raw-body.js';
import { parameterDetail, propertyDetail, toDto, validObject } from './validate.js';

/**
 * Turns bodies, query strings and path parameters into the DTO class that the handler declares, by the decorators of that class
 * alone, through Nest's `ValidationPipe`: nothing is coerced, and a property that the class does not declare is rejected, in nested
 * DTOs, too. What a handler declares and this pipe cannot validate, `RouteCheck` rejects at start.
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

  // Nest starts the pipes of all arguments at once and responds with what fails first: the errors of the path and the query must come
  // before those of the body.
  private async body(value: unknown, dto: Type | undefined): Promise<unknown> {
    const body = value instanceof RawBody ? value.json() : Promise.reject(emptyBody());
    await Promise.allSettled([body, setImmediate()]);
    const parsed = await body;
    return dto === undefined ? parsed : validObject(dto, parsed);
  }
}

/** Items of a body that is an array, at most; `BODY_LIMIT` holds about as many. */
const MOST_ITEMS = 1000;

/**
 * `@Body(arrayOf(ItemDto)) items: ItemDto[]`: a body that is an array, each item of which is an `ItemDto`. The type of the
 * argument alone says no more than "array".
 */
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

/** Whether the type that a handler declares is a class of its own, and not one of JavaScript or an interface. */
export function isDtoType(metatype: unknown): metatype is Type {
  return typeof metatype === 'function' && !NO_DTO.includes(metatype);
}
