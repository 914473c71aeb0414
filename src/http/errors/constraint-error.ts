import type { FastifyRequest } from 'fastify';
import type { ConstraintViolation, ViolationKind } from '../../database/constraint-violation.js';
import { RawBody } from '../body/raw-body.js';
import { ApiError, type ApiErrorOptions, STORAGE_FULL } from './api-error.js';

type RejectionKind = Exclude<ViolationKind, 'foreign key' | 'unique'> | 'missing parent';

/**
 * The response to a statement that the database has rejected. It names no tables, columns or SQL.
 * @param request absent for a message of a WebSocket
 */
export function constraintError(violation: ConstraintViolation, request?: FastifyRequest): ApiError {
  if (violation.kind === 'value' && isPathParameter(violation, request)) {
    return new ApiError(404, 'NOT_FOUND', 'There is no such record');
  }
  const { kind, verb } = violation;
  const sent = sentProperties(violation, request);
  if (kind === 'unique') return notUnique(violation.names, sent);
  // If the body has several of the properties, any of them may be wrong.
  return rejection(rejectionKind(kind, verb, sent), sent.length === 1 ? sent[0] : undefined);
}

/**
 * The error for values that another record has.
 * @param properties that are unique, each alone or all together
 * @param sent the properties of these that the request has
 */
export function notUnique(properties: readonly string[], sent: readonly string[] = properties): ApiError {
  const [same, unique] = properties.length > 1 ? [properties.join(' and '), 'together they'] : [properties[0], 'it'];
  const details = sent.map((name) => {
    const others = properties.filter((other) => other !== name).join(' and ');
    return { pointer: `/${name}`, message: `must be unique${others && ` together with ${others}`}` };
  });
  const message = `Another record has the same ${same ?? 'value'}, and ${unique} must be unique`;
  return new ApiError(409, 'ALREADY_EXISTS', message, { details: details.length > 0 ? details : undefined });
}

/** Finds the side of a violated foreign key, which the database does not name: the child row has the reference. */
function rejectionKind(
  kind: Exclude<ViolationKind, 'unique'>,
  verb: ConstraintViolation['verb'],
  sent: readonly string[],
): RejectionKind {
  if (kind !== 'foreign key') return kind;
  const isChild = verb === 'INSERT' || verb === 'REPLACE' || (verb === 'UPDATE' && sent.length > 0);
  return isChild ? 'missing parent' : 'referenced';
}

/** The error for a kind of violation, with the property of the body if it is known. */
export function rejection(kind: RejectionKind, property?: string): ApiError {
  const at = (message: string): ApiErrorOptions =>
    property === undefined ? {} : { details: [{ pointer: `/${property}`, message }] };
  switch (kind) {
    case 'capacity':
      return new ApiError(507, 'STORAGE_FULL', STORAGE_FULL);
    case 'referenced':
      return new ApiError(409, 'STILL_REFERENCED', 'Other records refer to this one; delete or change them first');
    case 'missing parent': {
      const text = 'to a record that does not exist';
      return new ApiError(400, 'REFERENCE_NOT_FOUND', `The request refers ${text}`, at(`refers ${text}`));
    }
    case 'rule':
    case 'value': {
      const text = 'is not a value that can be stored';
      return new ApiError(400, 'INVALID_REQUEST', 'A value of the request is not one that can be stored', at(text));
    }
  }
}

/** Tells whether the rejected value is a path parameter: then no record can have it as its key. */
function isPathParameter({ value }: ConstraintViolation, request?: FastifyRequest): boolean {
  const given = typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  return given !== undefined && Object.values((request?.params ?? {}) as Record<string, string>).includes(given);
}

function sentProperties({ names }: ConstraintViolation, request?: FastifyRequest): string[] {
  const body = request?.body;
  if (!(body instanceof RawBody)) return [];
  const parsed = Object(body.value) as object;
  return [...new Set(names)].filter((name) => Object.hasOwn(parsed, name));
}
