import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { SERVICE_NAME } from '../config/service-name.js';

export const REQUEST_ID_EXAMPLE = '7f1c0f0e-0b52-4b8e-9d8e-2f6a1c9c9b57';

const text = (description: string, example: string, pattern?: string) => ({
  description,
  required: true,
  schema: { type: 'string', ...(pattern && { pattern }) },
  example,
});

const optional = (...field: Parameters<typeof text>) => ({ ...text(...field), required: false });

/** A number of seconds or records, in a field that some responses lack. */
const count = (description: string, example: number) => ({
  description,
  required: false,
  schema: { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  example,
});

/** All response header fields, as components of the document. @param resource for the paths in examples */
export const headerComponents = (resource: string) => ({
  'X-Request-Id': text('Names this request in the log of the service', REQUEST_ID_EXAMPLE, '^[A-Za-z0-9._-]{1,128}$'),
  'X-Content-Type-Options': text('The media type is as stated', 'nosniff'),
  'Cache-Control': text('Private, and to be revalidated with the ETag before each use', 'private, no-cache'),
  'Public-Cache-Control': text('To be revalidated with the ETag before each use', 'public, no-cache'),
  Vary: text('Each bearer of a token has responses of its own', 'Authorization'),
  'Error-Cache-Control': text('Errors are not kept', 'no-store'),
  'Error-Vary': optional('Absent while no token has been accepted', 'Authorization'),
  ETag: text('The version of the response, for If-None-Match and If-Match', '"5e0c1b7a9d42-17"', '^"[^"]+"$'),
  Location: text('The new record', `/${resource}/1`),
  'Idempotency-Replayed': optional('The response to an earlier request with this Idempotency-Key', 'true', '^true$'),
  Link: optional(
    'The next page; absent on the last one (RFC 8288)',
    `</${resource}?limit=100&after=100>; rel="next"`,
    '^<[^>]+>; rel="next"$',
  ),
  'X-Total-Count': count('How many records are stored; absent on a filtered list', 17),
  'WWW-Authenticate': text('The challenge (RFC 6750 section 3)', `Bearer realm="${SERVICE_NAME}"`),
  'Retry-After': count(
    'Seconds to wait before the next attempt; absent with OUTCOME_UNKNOWN, if there was no Idempotency-Key',
    1,
  ),
  'RateLimit-Policy': optional(
    'The limits that hold for this request, each with its quota and window in seconds',
    '"subject-read";q=600;w=60',
  ),
  RateLimit: optional('What is left of each limit, and the seconds until it is renewed', '"subject-read";r=599;t=42'),
  Accept: optional('The media type that is accepted', 'application/json'),
  'Accept-Patch': optional('The media types that are accepted', 'application/json, application/merge-patch+json'),
  'Accept-Encoding': optional('Bodies come without a coding', 'identity'),
});

export type HeaderName = keyof ReturnType<typeof headerComponents>;

const RATE_LIMITS = ['RateLimit-Policy', 'RateLimit'] as const satisfies readonly HeaderName[];

const header = (name: HeaderName) => ({ $ref: `#/components/headers/${name}` });
const named = (names: readonly HeaderName[]) => Object.fromEntries(names.map((name) => [name, header(name)]));

/** The header fields of a successful response: the common ones and the given ones. */
export function headers(...names: HeaderName[]) {
  return named(['X-Request-Id', 'X-Content-Type-Options', 'Cache-Control', 'Vary', ...RATE_LIMITS, ...names]);
}

export function errorHeaders(names: readonly HeaderName[]) {
  return {
    ...named(['X-Request-Id', 'X-Content-Type-Options', ...RATE_LIMITS, ...names]),
    'Cache-Control': header('Error-Cache-Control'),
    Vary: header('Error-Vary'),
  };
}

/** Any text that fits into the header section; a longer text is 431. */
const FIELD = { type: 'string', maxLength: 16_384 } as const;

// Without examples: Swagger UI would send them, and no record has such an ETag.
const condition = (name: string, description: string) =>
  ApiHeader({ name, required: false, description, schema: FIELD });

export const ApiReadConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Respond with 412 when none of these is still the ETag'),
    condition('If-None-Match', 'Respond with 304 when one of these is still the ETag'),
  );

export const ApiWriteConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Change the record only when one of these is still its ETag, else 412'),
    condition('If-None-Match', 'Change the record only when none of these is its ETag, else 412'),
  );

export const ApiIdempotencyKey = (): MethodDecorator & ClassDecorator =>
  ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'A new UUID for each request: with it, the request can be repeated safely for 24 hours. A repetition changes ' +
      'nothing, and gets the response of the first success again, with `Idempotency-Replayed: true`. Errors are not kept.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  });

export const REQUEST_ID_PARAMETER = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description:
    'Names the request; the response repeats it. Without it, or when it has other characters, the service makes one.',
  // Without a pattern: the service replaces other values instead of rejecting them.
  schema: FIELD,
} as const;
