import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { notUnique, rejection } from '../http/errors/constraint-error.js';
import { propertiesOf } from '../http/validation/dto-properties.js';
import { ApiErrors, type DescribedError, exampleOf } from '../openapi/documented-errors.js';
import { ApiIdempotencyKey, ApiReadConditions, ApiWriteConditions, headers } from '../openapi/header-fields.js';
import { RateClass } from '../rate-limit/rate-class.decorator.js';
import {
  DISK_FULL,
  EXCLUDED,
  invalidBody,
  invalidIdOrBody,
  invalidRecordId,
  invalidQuery,
  KEY_ERRORS,
  notFound,
  STALE,
  storageFull,
  UNCONDITIONAL,
  wrongType,
} from './operation-errors.js';
import type { ResourceName } from './resource.js';

interface OperationOptions {
  /** Replaces the default description. */
  readonly description?: string;
  /** Additional errors, such as `missingReference('customerId')`. */
  readonly errors?: readonly DescribedError[];
}

interface RecordOptions extends OperationOptions {
  /** DTO of a record in responses. */
  readonly record: Type;
}

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

interface BodyOptions extends OperationOptions {
  readonly body: Type;
}

const ApiId = (name: ResourceName): MethodDecorator =>
  ApiParam({ name: 'id', description: `The identifier of the ${name.text}`, schema: name.ids.schema });

/** Describes the id, the preconditions, the body and the errors of a write to one record. */
function ApiWrite(
  name: ResourceName,
  errors: readonly DescribedError[],
  body?: Type,
  method: 'POST' | 'PUT' | 'PATCH' = 'POST',
): MethodDecorator {
  const rejected = body === undefined ? [invalidRecordId(name)] : [invalidIdOrBody(name, body), wrongType(method)];
  const common = [notFound(name), EXCLUDED, UNCONDITIONAL, DISK_FULL];
  return applyDecorators(
    ApiId(name),
    ApiWriteConditions(),
    ...(body === undefined ? [] : [ApiBody({ type: body })]),
    ApiErrors(`${name.plural}:write`, ...rejected, ...common, ...errors),
  );
}

const NOT_MODIFIED = { status: 304, description: 'You have this version already' };

/** Describes the GET of a list of all records, or of records below another record. Lists have separate rate limits. */
export const ApiList = (
  name: ResourceName,
  { record, query, of, operationId, description, errors = [] }: ListOptions,
): MethodDecorator => {
  const counts = of === undefined ? (['X-Total-Count'] as const) : [];
  const idSuffix = of === undefined ? '' : `Of${of.typeName}`;
  const summarySuffix = of === undefined ? '' : ` of ${of.indefinite}`;
  return applyDecorators(
    RateClass('list'),
    ...(of === undefined ? [] : [ApiId(of)]),
    ApiOperation({
      operationId: operationId ?? `list${name.pluralTypeName}${idSuffix}`,
      summary: `Retrieve all ${name.pluralText}${summarySuffix}`,
      description:
        description ?? 'All of them by id, or with `limit` a page. Without `limit` the list is never cut short.',
    }),
    ApiReadConditions(),
    ApiResponse({
      status: 200,
      description: `The ${name.pluralText}`,
      type: [record],
      headers: headers('ETag', 'Link', ...counts),
    }),
    ApiResponse({ ...NOT_MODIFIED, headers: headers('ETag', ...counts) }),
    ApiErrors(
      `${name.plural}:read`,
      invalidQuery(query),
      { ...STALE, headers: ['ETag', ...counts] },
      ...(of === undefined ? [] : [invalidRecordId(of), notFound(of)]),
      ...errors,
    ),
  );
};

/** Describes the GET of one record. */
export const ApiGet = (name: ResourceName, { record, description, errors = [] }: RecordOptions): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `get${name.typeName}`,
      summary: `Retrieve one ${name.text}`,
      description: description ?? `The ${name.text} with this id.`,
    }),
    ApiId(name),
    ApiReadConditions(),
    ApiResponse({ status: 200, description: `The ${name.text}`, type: record, headers: headers('ETag') }),
    ApiResponse({ ...NOT_MODIFIED, headers: headers('ETag') }),
    ApiErrors(`${name.plural}:read`, invalidRecordId(name), notFound(name), { ...STALE, headers: ['ETag'] }, ...errors),
  );

/** Describes the POST of a record. */
export const ApiCreate = (
  name: ResourceName,
  { record, body, description, errors = [] }: RecordOptions & BodyOptions,
): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `create${name.typeName}`,
      summary: `Add ${name.indefinite}`,
      description: description ?? 'The service gives it the next id. Ids are never given twice.',
    }),
    ApiIdempotencyKey(),
    ApiBody({ type: body }),
    ApiResponse({
      status: 201,
      description: `The ${name.text} is stored`,
      type: record,
      headers: headers('Location', 'ETag', 'Idempotency-Replayed'),
    }),
    ApiErrors(
      `${name.plural}:write`,
      invalidBody(body),
      wrongType('POST'),
      storageFull(name),
      ...errors,
      ...KEY_ERRORS,
    ),
  );

/** Describes the PUT of a record. */
export const ApiReplace = (
  name: ResourceName,
  { record, body, description, errors = [] }: RecordOptions & BodyOptions,
): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `replace${name.typeName}`,
      summary: `Replace ${name.indefinite}`,
      description: description ?? `Replaces the ${name.text} but for its id.`,
    }),
    ApiWrite(name, errors, body, 'PUT'),
    ApiResponse({
      status: 200,
      description: `The ${name.text} as it is now`,
      type: record,
      headers: isWhole(record, body) ? headers('ETag') : headers(),
    }),
  );

/** Tells whether the body has all properties but the id: only then a PUT may send an ETag (RFC 9110 section 9.3.4). */
function isWhole(record: Type, body: Type): boolean {
  const sent = propertiesOf(body).declared;
  return [...propertiesOf(record).declared].every((property) => property === 'id' || sent.has(property));
}

/** Describes the PATCH of a record. */
export const ApiPatch = (name: ResourceName, { body, description, errors = [] }: BodyOptions): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `patch${name.typeName}`,
      summary: `Partially update ${name.indefinite}`,
      description:
        description ??
        'Changes the properties that are sent. An empty object changes nothing. ' +
          'The body may also come as `application/merge-patch+json`, with the same meaning: see `Accept-Patch`.',
    }),
    ApiWrite(name, errors, body, 'PATCH'),
    ApiResponse({ status: 204, description: `The ${name.text} is changed`, headers: headers('ETag') }),
  );

/** Describes the DELETE of a record. */
export const ApiDelete = (name: ResourceName, { description, errors = [] }: OperationOptions = {}): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `delete${name.typeName}`,
      summary: `Delete ${name.indefinite}`,
      description: description ?? 'Frees its place in the storage. A second time it is 404.',
    }),
    ApiWrite(name, errors),
    ApiResponse({ status: 204, description: `The ${name.text} is deleted`, headers: headers() }),
  );

/**
 * Describes an action on a record, such as `POST /bookings/{id}/cancel`, with status 200. Its write gets the
 * preconditions of the exchange, so that it has an `Idempotency-Key`, too.
 * @param action the last segment of its path
 */
export const ApiAction = (
  name: ResourceName,
  action: string,
  { record, summary, body, description, errors = [] }: ActionOptions,
): MethodDecorator =>
  applyDecorators(
    ApiOperation({
      operationId: `${action}${name.typeName}`,
      summary,
      description: description ?? 'A second time it changes nothing.',
    }),
    ApiWrite(name, [...errors, ...KEY_ERRORS], body),
    ApiIdempotencyKey(),
    ApiResponse({
      status: 200,
      description: `The ${name.text} as it is now`,
      type: record,
      headers: headers('ETag', 'Idempotency-Replayed'),
    }),
  );

/** 400 for a property that refers to a record of another resource. */
export function missingReference(property: string): DescribedError {
  return {
    status: 400,
    description: `\`${property}\` refers to a record that does not exist`,
    examples: { reference: exampleOf(rejection('missing parent', property)) },
  };
}

/** 409 for values that another record has; several properties are unique together. */
export function alreadyExists(...properties: [string, ...string[]]): DescribedError {
  const names = properties.map((property) => `\`${property}\``).join(' and ');
  return {
    status: 409,
    description: `Another record has the same ${names}`,
    examples: { [properties.join('And')]: exampleOf(notUnique(properties)) },
  };
}

/** 409 for the deletion of a record that others refer to. */
export const STILL_REFERENCED: DescribedError = {
  status: 409,
  description: 'Other records refer to this one',
  examples: { referenced: exampleOf(rejection('referenced')) },
};
