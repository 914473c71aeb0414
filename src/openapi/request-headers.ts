import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';

// Without examples: Swagger UI would send them, and no record has such an ETag.
const condition = (name: string, description: string) =>
  ApiHeader({ name, required: false, description, schema: { type: 'string' } });

/** Documents the preconditions of a GET. */
export const ApiReadConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Respond with 412 when none of these is still the ETag'),
    condition('If-None-Match', 'Respond with 304 when one of these is still the ETag'),
  );

/** Documents the preconditions of a write. */
export const ApiWriteConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Change the record only when one of these is still its ETag, else 412'),
    condition('If-None-Match', 'Change the record only when none of these is its ETag, else 412'),
  );

/** The optional header `X-Request-Id` of every request. */
export const REQUEST_ID_PARAMETER = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description:
    'Names the request; the response repeats it. Without it, or when it has other characters, the service makes one.',
  // Without a pattern: the service replaces other values instead of rejecting them.
  schema: { type: 'string' },
} as const;
