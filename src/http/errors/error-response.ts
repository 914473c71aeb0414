import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { EntityNotFoundError } from 'typeorm';
import { DatabaseUnavailableError, DiskFullError, OutcomeUnknownError } from '../../database/errors.js';
import { ApiError, codeOfStatus, type ErrorDetail } from './api-error.js';

/** The one shape of every error, whatever its origin. */
export interface ErrorBody {
  readonly statusCode: number;
  readonly error: string;
  readonly message: string;
  readonly errorCode: string;
  readonly requestId: string;
  readonly details?: readonly ErrorDetail[];
}

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
}

/** Seconds a client is asked to wait when the service is not available. */
const RETRY_AFTER = '1';

export const OUTCOME_UNKNOWN =
  'The storage did not confirm the change: it may have been made or not. Look first, then repeat the request';

/**
 * Any error of a guard, a pipe or a handler as the response that is sent for it. Only those of this service and of Nest have a
 * status: a `statusCode` or `code` that another library gives its errors means something else (but see `fastify-errors.ts`). Any
 * other is a 500 and says nothing of the inside.
 */
export function errorResponse(error: unknown, requestId: string): ErrorResponse {
  return responseOf(toApiError(error), requestId);
}

/** The same for what Fastify, or Node's parser, rejects before any handler is asked. */
export function protocolErrorResponse(error: Error, requestId: string): ErrorResponse {
  if (error instanceof HttpException) return errorResponse(error, requestId);
  return responseOf(standard(protocolStatus(error)), requestId);
}

function responseOf({ status, errorCode, message, details, headers }: ErrorContent, requestId: string): ErrorResponse {
  return {
    status,
    headers: {
      ...headers,
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
    },
    body: {
      statusCode: status,
      error: STATUS_CODES[status] ?? 'Error',
      message,
      errorCode,
      requestId,
      ...(details && { details }),
    },
  };
}

interface ErrorContent {
  readonly status: number;
  readonly errorCode: string;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
  readonly headers?: Readonly<Record<string, string>>;
}

function toApiError(error: unknown): ErrorContent {
  if (error instanceof ApiError) {
    const { errorCode, message, details, headers } = error;
    return { status: error.getStatus(), errorCode, message, details, headers };
  }
  if (error instanceof DiskFullError) return { status: 507, errorCode: 'DISK_FULL', message: 'Storage is full' };
  if (error instanceof DatabaseUnavailableError) {
    return unavailable('The storage cannot be reached at the moment; try again');
  }
  if (error instanceof OutcomeUnknownError) {
    // Without Retry-After: clients that repeat by themselves would make the change twice.
    return { status: 503, errorCode: 'OUTCOME_UNKNOWN', message: OUTCOME_UNKNOWN };
  }
  if (error instanceof EntityNotFoundError) return { ...standard(404), message: 'There is no such record' };
  return error instanceof HttpException ? fromException(error) : standard(500);
}

function unavailable(message: string): ErrorContent {
  return { status: 503, errorCode: 'SERVICE_UNAVAILABLE', message, headers: { 'retry-after': RETRY_AFTER } };
}

/** What Node's parser rejects with another status than 400, by the codes of llhttp and of Node. */
const PARSER_STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_INVALID_VERSION: 505,
};

function protocolStatus(error: Error): number {
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string') return 500;
  if (Object.hasOwn(PARSER_STATUS, code)) return PARSER_STATUS[code]!;
  if (code.startsWith('HPE_') || code === 'ERR_HTTP_INVALID_HEADER_VALUE') return 400;
  const isClientError = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return code.startsWith('FST_') && isClientError ? statusCode : 500;
}

const MESSAGES: Readonly<Record<number, string>> = {
  400: 'The request is not valid HTTP',
  404: 'There is nothing at this path',
  408: 'The request did not arrive in time',
  413: 'The body is larger than the 16 KiB that are accepted',
  431: 'The header fields of the request are too large',
  505: 'The protocol must be HTTP/1.1 or HTTP/1.0',
  500: 'The service failed at this request; its log has the details under this request id',
};

/** Status and message of an exception of Nest, as the feature that throws it means them. A 500 says nothing of the inside. */
function fromException(error: HttpException): ErrorContent {
  const status = error.getStatus();
  if (!Number.isInteger(status) || status < 400 || status > 599 || status === 500) return standard(500);
  const message = messageOf(error);
  if (status === 503) return unavailable(message);
  const { errorCode } = error;
  return { status, errorCode: isErrorCode(errorCode) ? errorCode : codeOfStatus(status), message };
}

/** One string, also where the exception has a list of messages, as Nest's own validation gives. */
function messageOf(error: HttpException): string {
  const response = error.getResponse();
  const { message } = typeof response === 'object' ? (response as { message?: unknown }) : { message: undefined };
  return Array.isArray(message) && message.length > 0 ? message.map(String).join('; ') : error.message;
}

function isErrorCode(code: unknown): code is string {
  return typeof code === 'string' && /^[A-Z_]+$/.test(code);
}

function standard(status: number): ErrorContent {
  return { status, errorCode: codeOfStatus(status), message: messageOfStatus(status) };
}

/** What is said of an error of which nothing but the status is for clients. */
export function messageOfStatus(status: number): string {
  return MESSAGES[status] ?? STATUS_CODES[status] ?? 'Error';
}
