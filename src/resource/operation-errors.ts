import type { Type } from '@nestjs/common';
import { DiskFullError } from '../database/errors.js';
import { emptyBody, wrongCoding, wrongMediaType } from '../http/body/raw-body.js';
import { invalidRequest } from '../http/errors/api-error.js';
import { propertiesOf } from '../http/validation/property-decorators.js';
import { unknownParameter } from '../http/request.guard.js';
import { messageOfNull } from '../http/validation/validate.js';
import { described, type DescribedError } from '../openapi/documented-errors.js';
import type { HeaderName } from '../openapi/header-fields.js';
import { invalidKey, keyInUse, keyReused } from './idempotency/idempotency.js';
import { LIMIT_ERROR } from './lists/list-query.js';
import { excludedVersion, preconditionRequired, staleVersion } from './preconditions.js';
import { invalidId, ResourceNotFoundError, StorageFullError } from './record-errors.js';
import type { ResourceName } from './resource.js';

const parameter = unknownParameter('limit');

export function invalidQuery(query: Type): DescribedError {
  const known = [...propertiesOf(query).declared].join(', ');
  return described('A parameter is unknown or not valid', {
    value: invalidRequest([{ parameter: 'limit', message: LIMIT_ERROR }]),
    name: invalidRequest([{ parameter: 'colour', message: `is not known here; known are ${known}` }]),
  });
}

export function invalidRecordId({ ids }: ResourceName): DescribedError {
  const errors = { id: invalidId('id', ids), parameter };
  return described('The id is not valid, or there is a parameter that is not known', errors);
}

export function invalidBody(body: Type): DescribedError {
  const description =
    'The body is malformed, a property of it is missing, unknown or not valid, or a parameter is not known';
  return described(description, bodyErrors(body));
}

export function invalidIdOrBody({ ids }: ResourceName, body: Type): DescribedError {
  const description =
    'The id is not valid, or the body is malformed, or a property of it is missing, unknown or not valid';
  return described(description, { ...bodyErrors(body), id: invalidId('id', ids) });
}

function bodyErrors(body: Type) {
  const [first = ''] = propertiesOf(body).declared;
  const property = invalidRequest([{ pointer: `/${first}`, message: messageOfNull(body, first) }]);
  return { property, malformed: emptyBody(), parameter };
}

export function notFound(name: ResourceName): DescribedError {
  const absent = new ResourceNotFoundError(name, name.ids.schema.example);
  return described(`There is no such ${name.text}`, { absent });
}

const FAILED_CONDITION = 'If-Match or If-None-Match does not hold';

/** 412 on a GET; it has the header fields of the successful response. */
export const stale = (...headers: HeaderName[]): DescribedError =>
  described(FAILED_CONDITION, { changed: staleVersion() }, ...headers);

export const EXCLUDED = described(FAILED_CONDITION, { changed: staleVersion(), excluded: excludedVersion() });

export const UNCONDITIONAL = described('The service requires If-Match (`REQUIRE_IF_MATCH`)', {
  absent: preconditionRequired(),
});

export function wrongType(method: 'POST' | 'PUT' | 'PATCH'): DescribedError {
  const errors = { type: wrongMediaType(method), coding: wrongCoding() };
  const accepted = method === 'PATCH' ? 'Accept-Patch' : 'Accept';
  return described('The body is not JSON in UTF-8', errors, accepted, 'Accept-Encoding');
}

export const KEY_ERRORS: readonly DescribedError[] = [
  described('The Idempotency-Key is not valid', { key: invalidKey() }),
  described('A request with this Idempotency-Key is in progress', { keyInUse: keyInUse() }, 'Retry-After'),
  described('Another request had this Idempotency-Key', { keyReused: keyReused() }),
];

const disk = new DiskFullError(undefined);

export const DISK_FULL = described('The volume of the database is full', { disk });

export function storageFull({ plural, pluralText }: ResourceName): DescribedError {
  const description = `As many ${pluralText} are stored as may be, or the volume of the database is full`;
  return described(description, { full: new StorageFullError(plural), disk });
}
