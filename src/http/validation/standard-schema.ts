import { type ArgumentMetadata, StandardSchemaValidationPipe } from '@nestjs/common';
import { invalidRequest } from '../errors/api-error.js';
import { type Detail, MOST_DETAILS, unsafeNameIn } from './validate.js';

/** A schema of zod, valibot or another library that follows https://standardschema.dev. */
export type Schema = NonNullable<ArgumentMetadata['schema']>;

/**
 * Validates the value of an argument such as `@Body({ schema })` with Nest's pipe.
 * @param path of the value: the name in `@Query(name, { schema })`, else empty
 * @returns the value as the schema transforms it
 * @throws {ApiError} 400 with a detail for each error
 */
export async function validBySchema(
  schema: Schema,
  value: unknown,
  detail: Detail,
  path: readonly string[] = [],
): Promise<unknown> {
  // Nest's pipe would remove such names without an error.
  const unsafe = unsafeNameIn(value);
  if (unsafe !== undefined) throw invalidRequest([detail(path, unsafe)]);
  const pipe = new StandardSchemaValidationPipe({
    exceptionFactory: (issues) =>
      invalidRequest(
        issues.slice(0, MOST_DETAILS).map(({ path: inner = [], message }) => {
          const names = inner.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
          return detail([...path, ...names], message);
        }),
      ),
  });
  return pipe.transform(value, { type: 'body', schema });
}
