import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { DiskFullError } from '../database/errors.js';
import { emptyBody, wrongCoding, wrongMediaType } from '../http/body/raw-body.js';
import { invalidRequest } from '../http/errors/api-error.js';
import { notUnique, rejection } from '../http/errors/error-response.js';
import { unknownParameter } from '../http/request.guard.js';
import { propertiesOf } from '../http/validation/property-decorators.js';
import { messageOfNull } from '../http/validation/validate.js';
import { ApiErrors, described, type DescribedError } from '../openapi/documented-errors.js';
import {
  ApiIdempotencyKey,
  ApiReadConditions,
  ApiWriteConditions,
  type HeaderName,
  headers,
} from '../openapi/header-fields.js';
import { RateClass } from '../rate-limit/rate-limit.guard.js';
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
const KEY_ERRORS: readonly DescribedError[] = [
  described('The Idempotency-Key is not valid', { key: invalidKey() }),
  described('A request with this Idempotency-Key is in progress', { keyInUse: keyInUse() }, 'Retry-After'),
  described('Another request had this Idempotency-Key', { keyReused: keyReused() }),
];

interface OperationOptions {
  readonly description?: string;
  /** Additional errors, such as `missingReference('customerId')`. */
  readonly errors?: readonly DescribedError[];
}

type RecordOptions = OperationOptions & { readonly record: Type };

type BodyOptions = OperationOptions & { readonly body: Type };

interface ListOptions extends RecordOptions {
  readonly query: Type;
  /** The resource whose id is in the path, for a list such as `/tables/{id}/bookings`. */
  readonly of?: ResourceName;
  /** Replaces the default, for a second list of the resource. */
  readonly operationId?: string;
}

interface ActionOptions extends RecordOptions {
  /** In words, such as `Cancel a booking`. */
  readonly summary: string;
  readonly body?: Type;
}

const ApiId = (name: ResourceName): MethodDecorator =>
  ApiParam({ name: 'id', description: `The identifier of the ${name.text}`, schema: name.ids.schema });

const operation = (operationId: string, summary: string, description: string): MethodDecorator =>
  ApiOperation({ operationId, summary, description });

type Body = Type | [Type] | undefined;

const success = (status: number, description: string, type: Body, ...names: HeaderName[]): MethodDecorator =>
  ApiResponse({ status, description, ...(type && { type }), headers: headers(...names) });

const notModified = (...names: HeaderName[]): MethodDecorator =>
  success(304, 'You have this version already', undefined, ...names);

function invalidRecordId({ ids }: ResourceName): DescribedError {
  const description = 'The id is not valid, or there is a parameter that is not known';
  return described(description, { id: invalidId(ids), parameter });
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

function ApiWrite(
  name: ResourceName,
  errors: readonly DescribedError[],
  body?: Type,
  method: 'POST' | 'PUT' | 'PATCH' = 'POST',
): MethodDecorator {
  const invalid = 'The id is not valid, or the body is malformed, or a property of it is missing, unknown or not valid';
  const excluded = { changed: preconditionFailed('stale'), excluded: preconditionFailed('excluded') };
  return applyDecorators(
    ApiId(name),
    ApiWriteConditions(),
    ...(body === undefined ? [] : [ApiBody({ type: body })]),
    ApiErrors(
      `${name.plural}:write`,
      ...(body === undefined
        ? [invalidRecordId(name)]
        : [described(invalid, { ...bodyErrors(body), id: invalidId(name.ids) }), wrongType(method)]),
      notFound(name),
      described(FAILED_CONDITION, excluded),
      described('The service requires If-Match (`REQUIRE_IF_MATCH`)', { absent: preconditionRequired() }),
      described('The volume of the database is full', { disk }),
      ...errors,
    ),
  );
}

const changed = ({ text }: ResourceName, type: Type, ...names: HeaderName[]): MethodDecorator =>
  success(200, `The ${text} as it is now`, type, ...names);

/** Describes the GET of a list of all records, or of records below another record. Lists have separate rate limits. */
export const ApiList = (
  name: ResourceName,
  {
    record,
    query,
    of,
    operationId = `list${name.pluralTypeName}${of === undefined ? '' : `Of${of.typeName}`}`,
    description = 'All of them by id, or with `limit` a page. Without `limit` the list is never cut short.',
    errors = [],
  }: ListOptions,
): MethodDecorator => {
  const counts = of === undefined ? (['X-Total-Count'] as const) : [];
  const summary = `Retrieve all ${name.pluralText}${of === undefined ? '' : ` of ${of.indefinite}`}`;
  return applyDecorators(
    RateClass('list'),
    ...(of === undefined ? [] : [ApiId(of)]),
    operation(operationId, summary, description),
    ApiReadConditions(),
    success(200, `The ${name.pluralText}`, [record], 'ETag', 'Link', ...counts),
    notModified('ETag', ...counts),
    ApiErrors(
      `${name.plural}:read`,
      described('A parameter is unknown or not valid', {
        value: invalidRequest([{ parameter: 'limit', message: LIMIT_ERROR }]),
        name: unknownParameter('colour', propertiesOf(query).declared),
      }),
      stale('ETag', ...counts),
      ...(of === undefined ? [] : [invalidRecordId(of), notFound(of)]),
      ...errors,
    ),
  );
};

export const ApiGet = (
  name: ResourceName,
  { record, description = `The ${name.text} with this id.`, errors = [] }: RecordOptions,
): MethodDecorator =>
  applyDecorators(
    operation(`get${name.typeName}`, `Retrieve one ${name.text}`, description),
    ApiId(name),
    ApiReadConditions(),
    success(200, `The ${name.text}`, record, 'ETag'),
    notModified('ETag'),
    ApiErrors(`${name.plural}:read`, invalidRecordId(name), notFound(name), stale('ETag'), ...errors),
  );

export const ApiCreate = (
  name: ResourceName,
  {
    record,
    body,
    description = 'The service gives it the next id. Ids are never given twice.',
    errors = [],
  }: RecordOptions & BodyOptions,
): MethodDecorator =>
  applyDecorators(
    operation(`create${name.typeName}`, `Add ${name.indefinite}`, description),
    ApiIdempotencyKey(),
    ApiBody({ type: body }),
    success(201, `The ${name.text} is stored`, record, 'Location', 'ETag', 'Idempotency-Replayed'),
    ApiErrors(
      `${name.plural}:write`,
      described(
        'The body is malformed, a property of it is missing, unknown or not valid, or a parameter is not known',
        bodyErrors(body),
      ),
      wrongType('POST'),
      described(`As many ${name.pluralText} are stored as may be, or the volume of the database is full`, {
        full: new StorageFullError(name.plural),
        disk,
      }),
      ...errors,
      ...KEY_ERRORS,
    ),
  );

export const ApiReplace = (
  name: ResourceName,
  { record, body, description = `Replaces the ${name.text} but for its id.`, errors = [] }: RecordOptions & BodyOptions,
): MethodDecorator =>
  applyDecorators(
    operation(`replace${name.typeName}`, `Replace ${name.indefinite}`, description),
    ApiWrite(name, errors, body, 'PUT'),
    isWhole(record, body) ? changed(name, record, 'ETag') : changed(name, record),
  );

/** Tells whether the body has all properties but the id: only then a PUT may send an ETag (RFC 9110 section 9.3.4). */
function isWhole(record: Type, body: Type): boolean {
  const sent = propertiesOf(body).declared;
  return [...propertiesOf(record).declared].every((property) => property === 'id' || sent.has(property));
}

/** Describes PATCH. RFC 7396 would merge the objects inside, but a DTO validates each of them as a whole. */
function patched(body: Type): string {
  const hasObjects = propertiesOf(body).nested.size > 0;
  return (
    'Changes the properties that are sent. An empty object changes nothing. ' +
    'The body may also come as `application/merge-patch+json`, with the same meaning: see `Accept-Patch`.' +
    (hasObjects ? ' A property that is an object is replaced as a whole, not merged.' : '')
  );
}

export const ApiPatch = (
  name: ResourceName,
  { body, description = patched(body), errors = [] }: BodyOptions,
): MethodDecorator =>
  applyDecorators(
    operation(`patch${name.typeName}`, `Partially update ${name.indefinite}`, description),
    ApiWrite(name, errors, body, 'PATCH'),
    success(204, `The ${name.text} is changed`, undefined, 'ETag'),
  );

export const ApiDelete = (
  name: ResourceName,
  { description = 'Frees its place in the storage. A second time it is 404.', errors = [] }: OperationOptions = {},
): MethodDecorator =>
  applyDecorators(
    operation(`delete${name.typeName}`, `Delete ${name.indefinite}`, description),
    ApiWrite(name, errors),
    success(204, `The ${name.text} is deleted`, undefined),
  );

/** Describes an action with status 200 and an `Idempotency-Key`, such as `cancel` for `POST /bookings/{id}/cancel`. */
export const ApiAction = (
  name: ResourceName,
  action: string,
  { record, summary, body, description = 'A second time it changes nothing.', errors = [] }: ActionOptions,
): MethodDecorator =>
  applyDecorators(
    operation(`${action}${name.typeName}`, summary, description),
    ApiWrite(name, [...errors, ...KEY_ERRORS], body),
    ApiIdempotencyKey(),
    changed(name, record, 'ETag', 'Idempotency-Replayed'),
  );

/** 400 for a property that refers to a record of another resource. */
export function missingReference(property: string): DescribedError {
  const reference = rejection('missing parent', property);
  return described(`\`${property}\` refers to a record that does not exist`, { reference });
}

/** 409 for values that another record has; several properties are unique together. */
export function alreadyExists(...properties: [string, ...string[]]): DescribedError {
  const names = properties.map((property) => `\`${property}\``).join(' and ');
  return described(`Another record has the same ${names}`, { [properties.join('And')]: notUnique(properties) });
}

/** 409 for the deletion of a record that others refer to. */
export const STILL_REFERENCED = described('Other records refer to this one', { referenced: rejection('referenced') });
