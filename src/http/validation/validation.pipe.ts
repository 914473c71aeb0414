import { Readable } from 'node:stream';
import {
  type ArgumentMetadata,
  Injectable,
  type PipeTransform,
  StandardSchemaValidationPipe,
  type Type,
} from '@nestjs/common';
import { ApiError, invalidRequest } from '../errors/api-error.js';
import { emptyBody, RawBody } from '../body/raw-body.js';
import { Upload } from '../body/upload.js';
import { propertiesOf } from './property-decorators.js';
import {
  below,
  type Detail,
  parameterDetail,
  propertyDetail,
  requireSafeNames,
  toDto,
  validObject,
} from './validate.js';

/** A schema of zod, valibot or another library that follows https://standardschema.dev. */
type Schema = NonNullable<ArgumentMetadata['schema']>;

/**
 * Validates bodies, queries and path parameters with Nest's `ValidationPipe` and the DTO class of the argument, or with
 * its schema. With a class, it coerces no value, and rejects undeclared properties, also in nested DTOs. `RouteCheck`
 * rejects other types of arguments at start.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data, schema }: ArgumentMetadata): unknown {
    if (type === 'body' && (data === undefined || value instanceof RawBody)) return this.body(value, metatype, schema);
    if (type === 'body') return validArgument(value, metatype, schema);
    if (type === 'custom') return value;
    if (schema !== undefined) {
      return validBySchema(schema, value, data === undefined ? parameterDetail : below(parameterDetail, data));
    }
    if (data === undefined && isValidated(metatype)) return toDto(metatype, { ...(value as object) }, parameterDetail);
    return value;
  }

  // Nest runs the pipes of all arguments concurrently and sends the first error. Path and query come before the body.
  private async body(value: unknown, type: unknown, schema?: Schema): Promise<unknown> {
    // A message of a WebSocket may have no data; a request without a body has `null`.
    if (value === undefined && (type === undefined || type === Object) && schema === undefined) return value;
    if (value === undefined || value === null) {
      throw CONTENT.has(type) ? new ApiError(400, 'BAD_REQUEST', 'The request has no body') : emptyBody();
    }
    if (!(value instanceof RawBody)) return validArgument(value, type, schema);
    try {
      return await validArgument(await read(value, type), type, schema);
    } catch (error) {
      // `nextTick` runs after all pending microtasks, and so after the pipes of the other arguments.
      await new Promise((resolve) => process.nextTick(resolve));
      throw error;
    }
  }
}

function read(body: RawBody, type: unknown): unknown {
  if (type === Readable) return body.stream();
  if (type === Buffer) return body.bytes();
  return type === Upload ? Upload.read(body) : body.json();
}

/** Validates a parsed body, GraphQL argument or WebSocket message that has a schema or validation decorators. */
function validArgument(value: unknown, type: unknown, schema?: Schema): unknown {
  if (schema !== undefined) return validBySchema(schema, value, propertyDetail);
  return isValidated(type) ? validObject(type, value) : value;
}

/**
 * Validates the value of an argument such as `@Body({ schema })` with Nest's pipe, and returns what the schema makes of
 * it. It throws an `ApiError` as `toDto` does.
 */
async function validBySchema(schema: Schema, value: unknown, detail: Detail): Promise<unknown> {
  requireSafeNames(value, detail);
  const pipe = new StandardSchemaValidationPipe({
    exceptionFactory: (issues) =>
      invalidRequest(
        issues.map(({ path: inner = [], message, ...issue }) => {
          const names = inner.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
          // zod names an unknown property beside the path.
          const { keys: [unknown] = [] } = issue as { readonly keys?: readonly string[] };
          return detail(unknown === undefined ? names : [...names, unknown], message);
        }),
      ),
  });
  return pipe.transform(value, { type: 'body', schema });
}

/** Tells whether a class has validation decorators. `RouteCheck` requires a pipe for arguments of other classes. */
const isValidated = (type: unknown): type is Type => isDtoType(type) && propertiesOf(type).declared.size > 0;

/**
 * `@Body(arrayOf(ItemDto)) items: ItemDto[]`: a body that is an array of DTOs. TypeScript emits only `Array`.
 * @param most largest number of items; 16 KiB, the default of a body, allows about 1000
 */
export function arrayOf(dto: Type, most = 1000): PipeTransform<unknown, Promise<object[]>> {
  return {
    async transform(parsed) {
      if (!Array.isArray(parsed) || parsed.length > most) {
        throw invalidRequest([{ pointer: '', message: `must be an array of at most ${most} items` }]);
      }
      const items: object[] = [];
      for (const [index, item] of (parsed as unknown[]).entries()) {
        items.push(await toDto(dto, item, below(propertyDetail, String(index))));
      }
      return items;
    },
  };
}

/** Types of `@Body()` arguments that get the content of the body instead of a DTO. */
export const CONTENT = new Set<unknown>([Buffer, Readable, Upload]);

const NO_DTO = new Set<unknown>([String, Number, Boolean, BigInt, Symbol, Array, Object, Date, Promise, ...CONTENT]);

/** Tells whether the declared type is a DTO class, not an interface or a class of JavaScript. */
export function isDtoType(metatype: unknown): metatype is Type {
  return typeof metatype === 'function' && !NO_DTO.has(metatype);
}
