import type { ArgumentMetadata } from '@nestjs/common';
import { invalidRequest } from '../errors/api-error.js';
import { type Detail, MOST_DETAILS, unsafeNameIn } from './validate.js';

/** A schema of zod, valibot or another library that follows https://standardschema.dev. */
export type Schema = NonNullable<ArgumentMetadata['schema']>;

/**
 * Validates the value of an argument such as `@Body({ schema })`.
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
  const unsafe = unsafeNameIn(value);
  if (unsafe !== undefined) throw invalidRequest([detail(path, unsafe)]);
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) return result.value;
  throw invalidRequest(
    result.issues.slice(0, MOST_DETAILS).map(({ path: inner = [], message }) => {
      const names = inner.map((segment) => String(typeof segment === 'object' ? segment.key : segment));
      return detail([...path, ...names], message);
    }),
  );
}
