import type { Type } from '@nestjs/common';
import { DiskFullError } from '../database/errors.js';
import { emptyBody, wrongCoding, wrongMediaType } from '../http/body/raw-body.js';
import { invalidRequest } from '../http/errors/api-error.js';
import { propertiesOf } from '../http/validation/property-decorators.js';
import { unknownParameter } from '../http/request.guard.js';
import { messageOfNull } from '../http/validation/validate.js';
import { described, type DescribedError } from '../openapi/documented-errors.js';
import type { HeaderName } from '../openapi/header-fields.js';
import { invalidId } from './exchange.js';
import { invalidKey, keyInUse, keyReused } from './idempotency/idempotency.js';
import { LIMIT_ERROR } from './lists/list-query.js';
import { preconditionFailed, preconditionRequired } from './preconditions.js';
import type { ResourceName } from './resource.js';
import { ResourceNotFoundError } from './store/resource-repository.js';
import { StorageFullError } from './usage/usage-counter.js';

const parameter = unknownParameter('limit');
const disk = new DiskFullError(undefined);
const FAILED_CONDITION = 'If-Match or If-None-Match does not hold';

/** Errors of the GET of a list with the header fields of its 200; `of` is the resource whose id is in the path. */
export function listErrors(query: Type, headers: readonly HeaderName[], of?: ResourceName): DescribedError[] {
  const invalidQuery = described('A parameter is unknown or not valid', {
    value: invalidRequest([{ parameter: 'limit', message: LIMIT_ERROR }]),
    name: unknownParameter('colour', propertiesOf(query).declared),
  });
  const parentErrors = of === undefined ? [] : [invalidRecordId(of), notFound(of)];
  return [invalidQuery, stale(...headers), ...parentErrors];
}

export const getErrors = (name: ResourceName): DescribedError[] => [
  invalidRecordId(name),
  notFound(name),
  stale('ETag'),
];

export function createErrors({ plural, pluralText }: ResourceName, body: Type): DescribedError[] {
  const invalid =
    'The body is malformed, a property of it is missing, unknown or not valid, or a parameter is not known';
  const full = `As many ${pluralText} are stored as may be, or the volume of the database is full`;
  return [
    described(invalid, bodyErrors(body)),
    wrongType('POST'),
    described(full, { full: new StorageFullError(plural), disk }),
  ];
}

export function writeErrors(name: ResourceName, method: 'POST' | 'PUT' | 'PATCH', body?: Type): DescribedError[] {
  return [
    ...(body === undefined ? [invalidRecordId(name)] : [invalidIdOrBody(name, body), wrongType(method)]),
    notFound(name),
    described(FAILED_CONDITION, {
      changed: preconditionFailed('stale'),
      excluded: preconditionFailed('excluded'),
    }),
    described('The service requires If-Match (`REQUIRE_IF_MATCH`)', { absent: preconditionRequired() }),
    described('The volume of the database is full', { disk }),
  ];
}

export const KEY_ERRORS: readonly DescribedError[] = [
  described('The Idempotency-Key is not valid', { key: invalidKey() }),
  described('A request with this Idempotency-Key is in progress', { keyInUse: keyInUse() }, 'Retry-After'),
  described('Another request had this Idempotency-Key', { keyReused: keyReused() }),
];

function invalidRecordId({ ids }: ResourceName): DescribedError {
  const description = 'The id is not valid, or there is a parameter that is not known';
  return described(description, { id: invalidId(ids), parameter });
}

function invalidIdOrBody({ ids }: ResourceName, body: Type): DescribedError {
  const description =
    'The id is not valid, or the body is malformed, or a property of it is missing, unknown or not valid';
  return described(description, { ...bodyErrors(body), id: invalidId(ids) });
}

/** Examples of a 400: the first property of the body is `null`, the body is empty, or a parameter is unknown. */
function bodyErrors(body: Type) {
  const [first = ''] = propertiesOf(body).declared;
  const property = invalidRequest([{ pointer: `/${first}`, message: messageOfNull(body, first) }]);
  return { property, malformed: emptyBody(), parameter };
}

function notFound(name: ResourceName): DescribedError {
  const absent = new ResourceNotFoundError(name, name.ids.schema.example);
  return described(`There is no such ${name.text}`, { absent });
}

/** 412 on a GET; it has the header fields of the successful response. */
const stale = (...headers: HeaderName[]): DescribedError =>
  described(FAILED_CONDITION, { changed: preconditionFailed('stale') }, ...headers);

function wrongType(method: 'POST' | 'PUT' | 'PATCH'): DescribedError {
  const errors = { type: wrongMediaType(method), coding: wrongCoding() };
  const accepted = method === 'PATCH' ? 'Accept-Patch' : 'Accept';
  return described('The body is not JSON in UTF-8', errors, accepted, 'Accept-Encoding');
}
