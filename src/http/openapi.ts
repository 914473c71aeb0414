import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiProperty,
  ApiPropertyOptional,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { STATUS_CODES } from 'node:http';
import { codeOfStatus } from './api-error.js';

/** A fault of one member or parameter, as the document describes it. */
export class ErrorDetailDto {
  @ApiPropertyOptional({ description: 'Member of the body, as a JSON Pointer (RFC 6901)', example: '/wish' })
  pointer?: string;

  @ApiPropertyOptional({ description: 'Parameter of the query or the path', example: 'limit' })
  parameter?: string;

  @ApiProperty({ example: 'must be a text of 1 to 255 characters' })
  message!: string;
}

/** The body of every error. */
export class ErrorDto {
  @ApiProperty({ type: 'integer', minimum: 400, maximum: 599 })
  statusCode!: number;

  @ApiProperty({ description: 'The status in words' })
  error!: string;

  @ApiProperty({ description: 'What is wrong, for a person' })
  message!: string;

  @ApiProperty({ description: 'What is wrong, for a program; codes do not change' })
  errorCode!: string;

  @ApiProperty({ description: 'Names this request in the log of the service' })
  requestId!: string;

  @ApiPropertyOptional({ type: [ErrorDetailDto], description: 'The members or parameters that are wrong' })
  details?: ErrorDetailDto[];
}

const text = (description: string, example: string) => ({ description, schema: { type: 'string' as const }, example });

/** The response header fields, by name. */
export const HEADERS = {
  'X-Request-Id': text('Names this request in the log of the service', '7f1c0f0e-0b52-4b8e-9d8e-2f6a1c9c9b57'),
  ETag: text('The version of what is answered, for If-None-Match and If-Match', '"5e0c1b7a9d42-17"'),
  Location: text('The new record', '/cookies/1'),
  Link: text(
    'The next page, `rel="next"`; absent on the last one (RFC 8288)',
    '</cookies?limit=100&after=100>; rel="next"',
  ),
  'X-Total-Count': {
    description: 'How many records are stored; absent on a filtered list',
    schema: { type: 'integer' as const },
    example: 17,
  },
  'WWW-Authenticate': text('The challenge (RFC 6750 section 3)', 'Bearer realm="cookies", error="invalid_token"'),
  'Retry-After': {
    description: 'Seconds to wait before the next attempt',
    schema: { type: 'integer' as const },
    example: 1,
  },
  'Cache-Control': text('Private, and to be revalidated with the ETag before each use', 'private, no-cache'),
} as const;

export type HeaderName = keyof typeof HEADERS;

/** The named header fields, as a response of the document has them; every response has `X-Request-Id`. */
export function headers(...names: HeaderName[]) {
  return Object.fromEntries((['X-Request-Id', ...names] as const).map((name) => [name, HEADERS[name]]));
}

/** One way in which a request fails. */
export interface DescribedError {
  readonly status: number;
  readonly description: string;
  readonly message: string;
  readonly errorCode?: string;
  readonly headers?: readonly HeaderName[];
  readonly details?: readonly ErrorDetailDto[];
}

/** Errors that any operation behind a token may answer. */
const COMMON_ERRORS: readonly DescribedError[] = [
  {
    status: 401,
    description: 'No valid token',
    message: 'The token has expired',
    errorCode: 'INVALID_TOKEN',
    headers: ['WWW-Authenticate'],
  },
  {
    status: 403,
    description: 'The token lacks the scope',
    message: 'The token needs the scope cookies:write',
    errorCode: 'INSUFFICIENT_SCOPE',
    headers: ['WWW-Authenticate'],
  },
  {
    status: 500,
    description: 'The service failed',
    message: 'The service failed to answer this request; its log has the details under this request id',
  },
  {
    status: 503,
    description: 'The service or its database cannot be reached at the moment',
    message: 'The storage cannot be reached at the moment; try again',
    headers: ['Retry-After'],
  },
];

/** Describes the errors of an operation, with those that every operation has. */
export function ApiErrors(...errors: DescribedError[]): MethodDecorator {
  return applyDecorators(ApiExtraModels(ErrorDto), ...[...errors, ...COMMON_ERRORS].map(describe));
}

function describe(error: DescribedError): MethodDecorator & ClassDecorator {
  const { status, description, message, errorCode = codeOfStatus(status), details } = error;
  const requestId = HEADERS['X-Request-Id'].example;
  const example = {
    statusCode: status,
    error: STATUS_CODES[status],
    message,
    errorCode,
    requestId,
    ...(details && { details }),
  };
  return ApiResponse({
    status,
    description,
    headers: headers(...(error.headers ?? [])),
    content: { 'application/json': { schema: { $ref: getSchemaPath(ErrorDto) }, example } },
  });
}

/** `If-None-Match`, as a GET takes it. */
export const ApiIfNoneMatch = (): MethodDecorator & ClassDecorator =>
  ApiHeader({
    name: 'If-None-Match',
    required: false,
    description: 'Answer 304 when this is still the ETag',
    schema: { type: 'string' },
  });

/** `If-Match`, as a write takes it. */
export const ApiIfMatch = (): MethodDecorator & ClassDecorator =>
  ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'Change the record only when this is still its ETag, else 412',
    schema: { type: 'string' },
  });
