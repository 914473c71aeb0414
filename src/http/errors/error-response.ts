import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { EntityNotFoundError, OptimisticLockVersionMismatchError } from 'typeorm';
import type { ConstraintViolation } from '../../database/constraint-violation.js';
import { DatabaseUnavailableError, DiskFullError, OutcomeUnknownError } from '../../database/errors.js';
import { BODY_LIMIT, lengthOf } from '../body/body-limit.js';
import { commonHeaders } from '../messages/response-headers.js';
import { ApiError, codeOfStatus, ERROR_CODE, overloaded, STORAGE_FULL } from './api-error.js';

const OUTCOME_UNKNOWN =
  'The storage did not confirm the change: it may have been made or not. Look first, then repeat the request. ' +
  'A POST with an Idempotency-Key can be repeated without a look';

/**
 * The response to an error of a guard, a pipe or a handler. Only errors of this service and of Nest have a status here
 * (for other libraries see `error.filter.ts`). Any other error is a 500 without details.
 */
export function errorResponse(thrown: unknown, requestId: string) {
  const apiError = toApiError(thrown);
  const { errorCode, message, details } = apiError;
  const statusCode = apiError.getStatus();
  const headers: Record<string, string> = {
    ...apiError.headers,
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
    ...commonHeaders(requestId),
  };
  const error = STATUS_CODES[statusCode] ?? 'Error';
  const body = { statusCode, error, message, errorCode, requestId, ...(details && { details }) };
  return { status: statusCode, headers, body };
}

/** The one shape of all errors, which `ErrorDto` documents. */
export type ErrorBody = ReturnType<typeof errorResponse>['body'];

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DiskFullError) return new ApiError(507, 'DISK_FULL', STORAGE_FULL);
  if (error instanceof DatabaseUnavailableError) {
    return overloaded('The storage is busy or cannot be reached; try again');
  }
  if (error instanceof OutcomeUnknownError) {
    // Without a key, a repetition could make the change twice.
    const headers = error.isRepeatable ? { 'retry-after': '1' } : undefined;
    return new ApiError(503, 'OUTCOME_UNKNOWN', OUTCOME_UNKNOWN, { headers });
  }
  if (error instanceof EntityNotFoundError) return new ApiError(404, 'NOT_FOUND', 'There is no such record');
  if (error instanceof OptimisticLockVersionMismatchError) {
    return new ApiError(409, 'CONFLICT', 'Another request has changed the record; read it again, then repeat');
  }
  return error instanceof HttpException ? fromException(error) : standardError(500);
}

const MESSAGES: Readonly<Record<number, string>> = {
  400: 'The request is not valid HTTP',
  404: 'There is nothing at this path',
  408: 'The request did not arrive in time',
  413: `The body is larger than the ${lengthOf(BODY_LIMIT)} that are accepted`,
  417: 'The expectation in the Expect header cannot be met; only 100-continue is known',
  431: 'The header fields of the request are too large',
  500: 'The service failed at this request; its log has the details under this request id',
  501: 'The Transfer-Encoding must be chunked; no other coding is implemented',
  505: 'The protocol must be HTTP/1.1 or HTTP/1.0',
};

/** Keeps status, code and message of an exception of Nest. A 500 or an invalid status becomes a 500 without details. */
function fromException(error: HttpException): ApiError {
  const status = error.getStatus();
  if (!Number.isInteger(status) || status < 400 || status > 599 || status === 500) return standardError(500);
  const message = messageOf(error);
  const { errorCode = '' } = error;
  const code = ERROR_CODE.test(errorCode) ? errorCode : undefined;
  return status === 503 ? overloaded(message, code) : new ApiError(status, code ?? codeOfStatus(status), message);
}

/** The message as one string; Nest's own validation gives a list. */
function messageOf(error: HttpException): string {
  const { message } = Object(error.getResponse()) as { message?: unknown };
  return Array.isArray(message) && message.length > 0 ? message.map(String).join('; ') : error.message;
}

/** An error with the standard code and message of its status, for errors whose own message is not for clients. */
export function standardError(status: number, cause?: unknown): ApiError {
  const message = MESSAGES[status] ?? STATUS_CODES[status] ?? 'Error';
  return new ApiError(status, codeOfStatus(status), message, { cause });
}

const MISSING_PARENT = 'refers to a record that does not exist';

/** Status, code and message of a rejection, and the message for the property that is wrong. */
const REJECTIONS = {
  capacity: [507, 'STORAGE_FULL', STORAGE_FULL],
  referenced: [409, 'STILL_REFERENCED', 'Other records refer to this one; delete or change them first'],
  'missing parent': [400, 'REFERENCE_NOT_FOUND', `The request ${MISSING_PARENT}`, MISSING_PARENT],
  value: [
    400,
    'INVALID_REQUEST',
    'A value of the request is not one that can be stored',
    'is not a value that can be stored',
  ],
} as const;

/** The response to a statement that the database has rejected. It names no tables, columns or SQL. */
export function constraintError(violation: ConstraintViolation, request?: FastifyRequest): ApiError {
  if (violation.kind === 'value' && isPathParameter(violation, request)) {
    return new ApiError(404, 'NOT_FOUND', 'There is no such record');
  }
  const { kind, verb } = violation;
  const sent = sentProperties(violation, request);
  if (kind === 'unique') return notUnique(violation.names, sent);
  // If the body has several of the properties, any of them may be wrong.
  const property = sent.length === 1 ? sent[0] : undefined;
  if (kind !== 'foreign key') return rejection(kind === 'rule' ? 'value' : kind, property);
  // The database does not name the side of a violated foreign key. Keys that others refer to are hardly ever updated.
  const isChild = verb === 'INSERT' || verb === 'REPLACE' || verb === 'UPDATE';
  return rejection(isChild ? 'missing parent' : 'referenced', property);
}

/** The error for values that another record has. `sent` are those of the properties that the request has. */
export function notUnique(properties: readonly string[], sent: readonly string[] = properties): ApiError {
  const [same, unique] = properties.length > 1 ? [properties.join(' and '), 'together they'] : [properties[0], 'it'];
  const details = sent.map((name) => {
    const others = properties.filter((other) => other !== name).join(' and ');
    return { pointer: `/${name}`, message: `must be unique${others && ` together with ${others}`}` };
  });
  const message = `Another record has the same ${same ?? 'value'}, and ${unique} must be unique`;
  return new ApiError(409, 'ALREADY_EXISTS', message, { details: details.length > 0 ? details : undefined });
}

export function rejection(kind: keyof typeof REJECTIONS, property?: string): ApiError {
  const [status, code, message, messageOfProperty] = REJECTIONS[kind];
  if (property === undefined || messageOfProperty === undefined) return new ApiError(status, code, message);
  const details = [{ pointer: `/${property}`, message: messageOfProperty }];
  return new ApiError(status, code, message, { details });
}

/** Tells whether the rejected value is a path parameter: then no record can have it as its key. */
function isPathParameter({ value }: ConstraintViolation, request?: FastifyRequest): boolean {
  const parameters = Object.values((request?.params ?? {}) as Record<string, string>);
  return parameters.some((parameter) => (typeof value === 'number' ? Number(parameter) : parameter) === value);
}

function sentProperties({ names }: ConstraintViolation, request?: FastifyRequest): string[] {
  const parsed = Object(request?.receivedBody?.value) as object;
  return [...new Set(names)].filter((name) => Object.hasOwn(parsed, name));
}
