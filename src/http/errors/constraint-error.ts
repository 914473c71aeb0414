import type { FastifyRequest } from 'fastify';
import type { ConstraintViolation, ViolationKind } from '../../database/constraint-violation.js';
import { ApiError, type ErrorDetail } from './api-error.js';
import { RawBody } from '../body/raw-body.js';

interface Rejection {
  readonly status: 400 | 409;
  readonly errorCode: string;
  readonly message: string;
  /** What is said of the property in question. */
  readonly detail: string;
}

type RejectionKind = Exclude<ViolationKind, 'foreign key'> | 'missing parent';

const REJECTIONS: Readonly<Record<RejectionKind, Rejection>> = {
  unique: {
    status: 409,
    errorCode: 'ALREADY_EXISTS',
    message: 'Another record has the same value, and it must be unique',
    detail: 'must be unique',
  },
  referenced: {
    status: 409,
    errorCode: 'STILL_REFERENCED',
    message: 'Other records refer to this one; delete or change them first',
    detail: 'is still referred to',
  },
  'missing parent': {
    status: 400,
    errorCode: 'REFERENCE_NOT_FOUND',
    message: 'The request refers to a record that does not exist',
    detail: 'refers to a record that does not exist',
  },
  rule: {
    status: 400,
    errorCode: 'INVALID_REQUEST',
    message: 'A value of the request is not one that can be stored',
    detail: 'is not a value that can be stored',
  },
  value: {
    status: 400,
    errorCode: 'INVALID_REQUEST',
    message: 'A value of the request is not one that can be stored',
    detail: 'is not a value that can be stored',
  },
};

/** The rejection of a request whose statement the database has rejected. It says nothing of tables, columns or SQL. */
export function constraintError(violation: ConstraintViolation, request: FastifyRequest): ApiError {
  if (violation.kind === 'value' && isOfPath(violation, request)) {
    return new ApiError(404, 'NOT_FOUND', 'There is no such record');
  }
  const sent = sentProperties(violation, request);
  // With several, it could be any of them.
  return rejection(rejectionKind(violation, sent), sent.length === 1 ? sent[0] : undefined);
}

/** The database does not say which side of a foreign key is broken: an UPDATE without a reference has changed a referenced key. */
function rejectionKind({ kind, verb }: ConstraintViolation, sent: readonly string[]): RejectionKind {
  if (kind !== 'foreign key') return kind;
  const isOfChild = verb === 'INSERT' || verb === 'REPLACE' || (verb === 'UPDATE' && sent.length > 0);
  return isOfChild ? 'missing parent' : 'referenced';
}

/** The rejection by what was violated, and the property of the body in question. */
export function rejection(kind: RejectionKind, property?: string): ApiError {
  const { status, errorCode, message, detail } = REJECTIONS[kind];
  const details: ErrorDetail[] | undefined =
    status === 400 && property !== undefined ? [{ pointer: `/${property}`, message: detail }] : undefined;
  return new ApiError(status, errorCode, message, { details });
}

/** Whether the value is a parameter of the path: no record has a key that its column cannot hold. */
function isOfPath({ value }: ConstraintViolation, { params }: FastifyRequest): boolean {
  const given = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  return given !== undefined && Object.values(params as Record<string, string>).includes(given);
}

/** The properties in question that the body has. */
function sentProperties({ names }: ConstraintViolation, { body }: FastifyRequest): string[] {
  if (!(body instanceof RawBody)) return [];
  const parsed = Object(body.value) as object;
  return [...new Set(names)].filter((name) => Object.hasOwn(parsed, name));
}
