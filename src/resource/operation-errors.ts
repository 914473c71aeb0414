import type { Type } from '@nestjs/common';
import { DiskFullError } from '../database/errors.js';
import { emptyBody, wrongCoding, wrongMediaType } from '../http/body/raw-body.js';
import { invalidRequest } from '../http/errors/api-error.js';
import { propertiesOf } from '../http/validation/dto-properties.js';
import { unknownParameter } from '../http/validation/query.guard.js';
import { messageOfNull } from '../http/validation/validate.js';
import { type DescribedError, exampleOf } from '../openapi/documented-errors.js';
import { invalidKey, keyInUse, keyReused } from './idempotency/idempotency.js';
import { LIMIT_ERROR } from './lists/list-query.js';
import {
  excludedVersion,
  invalidId,
  preconditionRequired,
  ResourceNotFoundError,
  staleVersion,
  StorageFullError,
} from './record-errors.js';
import type { ResourceName } from './resource.js';

// The examples are the bodies of the errors that the service throws.

const strayParameter = exampleOf(unknownParameter('limit'));

export function invalidQuery(query: Type): DescribedError {
  const known = [...propertiesOf(query).declared].join(', ');
  const unknown = { parameter: 'colour', message: `is not known here; known are ${known}` };
  return {
    status: 400,
    description: 'A parameter is unknown or not valid',
    examples: {
      value: exampleOf(invalidRequest([{ parameter: 'limit', message: LIMIT_ERROR }])),
      name: exampleOf(invalidRequest([unknown])),
    },
  };
}

export function invalidRecordId({ ids }: ResourceName): DescribedError {
  return {
    status: 400,
    description: 'The id is not valid, or there is a parameter that is not known',
    examples: { id: exampleOf(invalidId('id', ids)), parameter: strayParameter },
  };
}

export function invalidBody(body: Type): DescribedError {
  return {
    status: 400,
    description:
      'The body is malformed, a property of it is missing, unknown or not valid, or a parameter is not known',
    examples: { property: invalidProperty(body), malformed: exampleOf(emptyBody()), parameter: strayParameter },
  };
}

export function invalidIdOrBody(name: ResourceName, body: Type): DescribedError {
  return {
    status: 400,
    description: 'The id is not valid, or the body is malformed, or a property of it is missing, unknown or not valid',
    examples: { ...invalidBody(body).examples, ...invalidRecordId(name).examples },
  };
}

/** The error of the first property of a class when it is `null`. */
function invalidProperty(body: Type) {
  const [first = ''] = propertiesOf(body).declared;
  return exampleOf(invalidRequest([{ pointer: `/${first}`, message: messageOfNull(body, first) }]));
}

export function notFound(name: ResourceName): DescribedError {
  return {
    status: 404,
    description: `There is no such ${name.text}`,
    examples: { absent: exampleOf(new ResourceNotFoundError(name, name.ids.schema.example)) },
  };
}

/** 412 on a GET. */
export const STALE: DescribedError = {
  status: 412,
  description: 'If-Match or If-None-Match does not hold',
  examples: { changed: exampleOf(staleVersion()) },
};

/** 412 on a write. */
export const EXCLUDED: DescribedError = {
  ...STALE,
  examples: { ...STALE.examples, excluded: exampleOf(excludedVersion()) },
};

export const UNCONDITIONAL: DescribedError = {
  status: 428,
  description: 'The service requires If-Match (`REQUIRE_IF_MATCH`)',
  examples: { absent: exampleOf(preconditionRequired()) },
};

export function wrongType(method: 'POST' | 'PUT' | 'PATCH'): DescribedError {
  return {
    status: 415,
    description: 'The body is not JSON in UTF-8',
    examples: { type: exampleOf(wrongMediaType(method)), coding: exampleOf(wrongCoding()) },
    headers: [method === 'PATCH' ? 'Accept-Patch' : 'Accept', 'Accept-Encoding'],
  };
}

/** The errors of operations with an `Idempotency-Key`. */
export const KEY_ERRORS: readonly DescribedError[] = [
  { status: 400, description: 'The Idempotency-Key is not valid', examples: { key: exampleOf(invalidKey()) } },
  {
    status: 409,
    description: 'A request with this Idempotency-Key is in progress',
    examples: { keyInUse: exampleOf(keyInUse()) },
    headers: ['Retry-After'],
  },
  {
    status: 422,
    description: 'Another request had this Idempotency-Key',
    examples: { keyReused: exampleOf(keyReused()) },
  },
];

export const DISK_FULL: DescribedError = {
  status: 507,
  description: 'The volume of the database is full',
  examples: { disk: exampleOf(new DiskFullError(undefined)) },
};

export function storageFull(name: ResourceName): DescribedError {
  return {
    status: 507,
    description: `As many ${name.pluralText} are stored as may be, or the volume of the database is full`,
    examples: { full: exampleOf(new StorageFullError(name.plural)), ...DISK_FULL.examples },
  };
}
