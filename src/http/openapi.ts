import { STATUS_CODES } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import {
  ApiExtension,
  ApiExtraModels,
  ApiHeader,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  ApiSchema,
  getSchemaPath,
} from '@nestjs/swagger';
import { codeOfStatus, type ErrorDetail } from './api-error.js';
import { errorResponse, OUTCOME_UNKNOWN } from './error-response.js';
import { PROTOCOL_ERRORS } from './protocol-errors.openapi.js';

const REQUEST_ID = '7f1c0f0e-0b52-4b8e-9d8e-2f6a1c9c9b57';

/** What is wrong with one property of the body, or with one parameter of the query or the path. */
@ApiSchema({ name: 'ErrorDetail' })
export class ErrorDetailDto {
  @ApiProperty({
    description: 'What is wrong',
    example: 'must be a text of 1 to 255 characters, without NUL and lone surrogates',
  })
  message!: string;

  @ApiPropertyOptional({
    description: 'The property of the body, as a JSON Pointer (RFC 6901); empty for the body itself',
    example: '/wish',
  })
  pointer?: string;

  // Without an example: a detail has a pointer or a parameter, never both.
  @ApiPropertyOptional({ description: 'The parameter of the query or the path, by its name' })
  parameter?: string;
}

/** The body of every error. */
export class ErrorDto {
  @ApiProperty({ type: 'integer', minimum: 400, maximum: 599, example: 431 })
  statusCode!: number;

  @ApiProperty({ description: 'The status in words', example: 'Request Header Fields Too Large' })
  error!: string;

  @ApiProperty({
    description: 'What is wrong, for a person',
    example: 'The header fields of the request are too large',
  })
  message!: string;

  @ApiProperty({
    description: 'What is wrong, for a program; codes do not change',
    pattern: '^[A-Z_]+$',
    example: 'REQUEST_HEADER_FIELDS_TOO_LARGE',
  })
  errorCode!: string;

  @ApiProperty({ description: 'Names this request in the log of the service', example: REQUEST_ID })
  requestId!: string;

  @ApiPropertyOptional({ type: [ErrorDetailDto], description: 'The properties or parameters that are wrong' })
  details?: ErrorDetailDto[];
}

interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: { readonly type: 'string' | 'integer'; readonly pattern?: string; readonly minimum?: number };
  readonly example: string | number;
}

const text = (description: string, example: string, pattern?: string): Header => ({
  description,
  required: true,
  schema: { type: 'string', ...(pattern && { pattern }) },
  example,
});

const count = (description: string, example: number): Header => ({
  description,
  required: true,
  schema: { type: 'integer', minimum: 0 },
  example,
});

const optional = (header: Header): Header => ({ ...header, required: false });

const REQUEST_ID_PATTERN = '^[A-Za-z0-9._-]{1,128}$';
const ETAG_PATTERN = '^"[^"]+"$';

/** Every response header field, as the document's components have them. */
export const HEADERS = {
  'X-Request-Id': text('Names this request in the log of the service', REQUEST_ID, REQUEST_ID_PATTERN),
  'X-Content-Type-Options': text('The media type is as stated', 'nosniff'),
  'Cache-Control': text('Private, and to be revalidated with the ETag before each use', 'private, no-cache'),
  Vary: text('Each bearer of a token has answers of its own', 'Authorization'),
  'Error-Cache-Control': text('Errors are not kept', 'no-store'),
  'Error-Vary': optional(text('Absent while no token has been accepted', 'Authorization')),
  ETag: text('The version of what is answered, for If-None-Match and If-Match', '"5e0c1b7a9d42-17"', ETAG_PATTERN),
  Location: text('The new record', '/cookies/1'),
  Link: optional(
    text(
      'The next page; absent on the last one (RFC 8288)',
      '</cookies?limit=100&after=100>; rel="next"',
      '^<[^>]+>; rel="next"$',
    ),
  ),
  'X-Total-Count': optional(count('How many records are stored; absent on a filtered list', 17)),
  'WWW-Authenticate': text('The challenge (RFC 6750 section 3)', 'Bearer realm="cookies"'),
  'Retry-After': optional(count('Seconds to wait before the next attempt; absent with OUTCOME_UNKNOWN', 1)),
  Accept: optional(text('The media type that is accepted', 'application/json')),
  'Accept-Patch': optional(text('The media types that are accepted', 'application/json, application/merge-patch+json')),
  'Accept-Encoding': optional(text('Bodies come without a coding', 'identity')),
} as const;

type HeaderName = keyof typeof HEADERS;

const header = (name: HeaderName) => ({ $ref: `#/components/headers/${name}` });
const named = (names: readonly HeaderName[]) => Object.fromEntries(names.map((name) => [name, header(name)]));

/** The header fields of a response that is no error: the named ones, and those that all have. */
export function headers(...names: HeaderName[]) {
  return named(['X-Request-Id', 'X-Content-Type-Options', 'Cache-Control', 'Vary', ...names]);
}

function errorHeaders(names: readonly HeaderName[] = []) {
  return {
    ...named(['X-Request-Id', 'X-Content-Type-Options', ...names]),
    'Cache-Control': header('Error-Cache-Control'),
    Vary: header('Error-Vary'),
  };
}

/** One error body, but for what follows from its status. */
export interface ErrorExample {
  readonly message: string;
  /** Default: the status in words. */
  readonly errorCode?: string;
  readonly details?: readonly ErrorDetail[];
}

/** One status with which a request fails, and its bodies by name. */
export interface DescribedError {
  readonly status: number;
  readonly description: string;
  readonly examples: Readonly<Record<string, ErrorExample>>;
  readonly headers?: readonly HeaderName[];
}

/** The body with which an error is responded to. */
export function exampleOf(error: Error): ErrorExample {
  const { message, errorCode, details } = errorResponse(error, REQUEST_ID).body;
  return { message, errorCode, details };
}

/** Errors that any operation behind a token may answer. */
const commonErrors = (scope: string): readonly DescribedError[] => [
  {
    status: 401,
    description: 'No valid token',
    examples: {
      absent: { message: 'Send a token: Authorization: Bearer <JWT>', errorCode: 'UNAUTHENTICATED' },
      expired: { message: 'The token has expired', errorCode: 'INVALID_TOKEN' },
    },
    headers: ['WWW-Authenticate'],
  },
  {
    status: 403,
    description: `The token lacks the scope \`${scope}\``,
    examples: { scope: { message: `The token needs the scope ${scope}`, errorCode: 'INSUFFICIENT_SCOPE' } },
    headers: ['WWW-Authenticate'],
  },
  {
    status: 500,
    description: 'The service failed',
    examples: {
      failed: { message: 'The service failed to answer this request; its log has the details under this request id' },
    },
  },
  {
    status: 503,
    description: scope.endsWith(':write')
      ? 'The service or its database cannot be reached at the moment, and nothing has changed; or, with `OUTCOME_UNKNOWN`, the ' +
        'confirmation of the change was lost, and it may have been made or not'
      : 'The service or its database cannot be reached at the moment',
    examples: {
      unavailable: { message: 'The storage cannot be reached at the moment; try again' },
      ...(scope.endsWith(':write') && {
        outcomeUnknown: { message: OUTCOME_UNKNOWN, errorCode: 'OUTCOME_UNKNOWN' },
      }),
    },
    headers: ['Retry-After'],
  },
];

/** Describes how an operation fails, with what all operations that need the scope have in common. */
export function ApiErrors(scope: string, ...errors: DescribedError[]): MethodDecorator {
  const all = mergedByStatus([...errors, ...commonErrors(scope), ...PROTOCOL_ERRORS]);
  return applyDecorators(ApiExtraModels(ErrorDto), ...all.map(describe));
}

/** One description for each status: of those that share it, the descriptions follow one another. */
function mergedByStatus(errors: readonly DescribedError[]): DescribedError[] {
  const merged = new Map<number, DescribedError>();
  for (const error of errors) {
    const other = merged.get(error.status);
    merged.set(error.status, other === undefined ? error : merge(other, error));
  }
  return [...merged.values()];
}

function merge(one: DescribedError, other: DescribedError): DescribedError {
  return {
    status: one.status,
    description: `${one.description}. ${other.description}`,
    examples: { ...one.examples, ...other.examples },
    headers: [...(one.headers ?? []), ...(other.headers ?? [])],
  };
}

function describe({ status, description, examples, headers }: DescribedError): MethodDecorator & ClassDecorator {
  const bodies = Object.entries(examples).map(([name, { message, errorCode = codeOfStatus(status), details }]) => {
    const error = STATUS_CODES[status];
    const value = {
      statusCode: status,
      error,
      message,
      errorCode,
      requestId: REQUEST_ID,
      ...(details && { details }),
    };
    return [name, { summary: message, value }];
  });
  return ApiResponse({
    status,
    description,
    headers: errorHeaders(headers),
    content: {
      'application/json': {
        schema: { $ref: getSchemaPath(ErrorDto) },
        examples: Object.fromEntries(bodies) as Record<string, object>,
      },
    },
  });
}

// Without examples: Swagger UI would send them, and a made-up ETag fits no record.
const condition = (name: string, description: string) =>
  ApiHeader({ name, required: false, description, schema: { type: 'string' } });

/** The conditions of a GET. */
export const ApiReadConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Answer 412 when none of these is still the ETag'),
    condition('If-None-Match', 'Answer 304 when one of these is still the ETag'),
  );

/** The conditions of a write. */
export const ApiWriteConditions = (): MethodDecorator & ClassDecorator =>
  applyDecorators(
    condition('If-Match', 'Change the record only when one of these is still its ETag, else 412'),
    condition('If-None-Match', 'Change the record only when none of these is its ETag, else 412'),
  );

/** `X-Request-Id`, which every request may bring. */
export const REQUEST_ID_PARAMETER = {
  name: 'X-Request-Id',
  in: 'header',
  required: false,
  description:
    'Names the request; the answer repeats it. Without it, or when it has other characters, the service makes one.',
  // Without a pattern: the service replaces another value, and does not reject it.
  schema: { type: 'string' },
} as const;

/** Marks a class of responses that the document closes, until `openApiDocument` has done so. */
export const CLOSED = 'x-closed';

/**
 * Says of a class of responses that it never gets further properties. Clients may reject such a property, so a class
 * without this decorator can grow. Request bodies need none: they are closed already.
 */
export const ApiClosed = (): ClassDecorator => ApiExtension(CLOSED, true);
