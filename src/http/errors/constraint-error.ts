import type { FastifyRequest } from 'fastify';
import type { ConstraintViolation } from '../../database/constraint-violation.js';
import { ApiError, STORAGE_FULL } from './api-error.js';

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
