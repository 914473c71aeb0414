import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';

/** An error in one property of the body (RFC 6901 pointer) or of one query or path parameter. */
export type ErrorDetail =
  { readonly pointer: string; readonly message: string } | { readonly parameter: string; readonly message: string };

export interface ApiErrorOptions {
  readonly details?: readonly ErrorDetail[];
  /** Header fields of the response, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An error with its response: status, stable code, message, details and header fields. */
export class ApiError extends HttpException {
  declare readonly errorCode: string;
  readonly details?: readonly ErrorDetail[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    errorCode: string,
    message: string,
    { details, headers = {}, cause }: ApiErrorOptions = {},
  ) {
    super(message, status, { cause, errorCode });
    this.details = details;
    this.headers = headers;
  }
}

/** Message of each 507: the contract's text. */
export const STORAGE_FULL = 'Storage is full';

/** Largest number of details in a response. The message counts all. */
const MOST_DETAILS = 50;

/** 400 for errors in properties of the body or in parameters. */
export function invalidRequest(details: readonly ErrorDetail[]): ApiError {
  const [first, ...more] = details;
  const name = first === undefined ? '' : 'pointer' in first ? first.pointer || 'body' : first.parameter;
  const rest = more.length > 0 ? ` (and ${more.length} more)` : '';
  const shown = details.slice(0, MOST_DETAILS);
  return new ApiError(400, 'INVALID_REQUEST', `${name}: ${first?.message}${rest}`, { details: shown });
}

/** The form of `errorCode`. */
export const ERROR_CODE = /^[A-Z][A-Z0-9_]*$/;

/** 503 with `Retry-After`: the service cannot handle the request now, and nothing has changed. */
export function overloaded(message: string, code = 'SERVICE_UNAVAILABLE', seconds = 1): ApiError {
  return new ApiError(503, code, message, { headers: { 'retry-after': String(seconds) } });
}

/** The default code of an error: its status in words, such as `NOT_FOUND` for 404. */
export function codeOfStatus(status: number): string {
  return (STATUS_CODES[status] ?? 'Error').toUpperCase().replaceAll(/[^A-Z]+/g, '_');
}

/** Largest number of header fields; the limit of Node itself would drop fields without an error. */
export const MAX_HEADER_FIELDS = 2000;

export function tooManyFields(): ApiError {
  const message = `The request has more than ${MAX_HEADER_FIELDS} header fields`;
  return new ApiError(431, 'REQUEST_HEADER_FIELDS_TOO_LARGE', message);
}

export function invalidHost(): ApiError {
  const message = 'The request must have exactly one Host header, with a host and perhaps a port';
  return new ApiError(400, 'BAD_REQUEST', message);
}
