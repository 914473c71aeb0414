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
  const property = propertyOf(violation, request);
  return rejection(rejectionKind(violation, property), property);
}

/** The database does not say which side of a foreign key it is: an UPDATE that sends no reference has changed what others refer to. */
function rejectionKind({ kind, verb }: ConstraintViolation, property: string | undefined): RejectionKind {
  if (kind !== 'foreign key') return kind;
  const isOfChild = verb === 'INSERT' || verb === 'REPLACE' || (verb === 'UPDATE' && property !== undefined);
  return isOfChild ? 'missing parent' : 'referenced';
}

/** The same by what was violated, and the property of the body in question. */
export function rejection(kind: RejectionKind, property?: string): ApiError {
  const { status, errorCode, message, detail } = REJECTIONS[kind];
  const details: ErrorDetail[] | undefined =
    status === 400 && property !== undefined ? [{ pointer: `/${property}`, message: detail }] : undefined;
  return new ApiError(status, errorCode, message, { details });
}

/** Whether the statement was given a parameter of the path: no record has a key that its column cannot hold. */
function isOfPath({ values }: ConstraintViolation, { params }: FastifyRequest): boolean {
  const given = values.map(String);
  return Object.values(params as Record<string, string>).some((value) => given.includes(value));
}

/** The property of the body that is in question; none where the client has not sent it, or where it could be either of two. */
function propertyOf({ names }: ConstraintViolation, { body }: FastifyRequest): string | undefined {
  if (names.length === 0 || !(body instanceof RawBody)) return undefined;
  const parsed = Object(body.value) as object;
  const sent = [...new Set(names)].filter((name) => Object.hasOwn(parsed, name));
  return sent.length === 1 ? sent[0] : undefined;
}
