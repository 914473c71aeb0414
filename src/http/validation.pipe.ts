import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { ApiError, type ErrorDetail, invalidRequest } from './api-error.js';
import { RawBody } from './raw-body.js';

/**
 * Turns bodies and query strings into the DTO class that the handler declares, by the decorators of that class alone:
 * nothing is coerced, and a member that the class does not declare is refused. Handlers that declare no class get the
 * parsed body, or the query, as it is.
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype, data }: ArgumentMetadata): unknown {
    const dto = isDto(metatype) && data === undefined ? metatype : undefined;
    if (type === 'query' && dto !== undefined) return toDto(dto, { ...(value as object) }, parameterFault);
    if (type === 'body') return this.body(value, dto);
    return value;
  }

  // Nest starts the pipes of all arguments at once, the last argument's first, and answers what fails first. By then the
  // pipes of the path and the query must have had their say: their faults come before those of the body.
  private async body(value: unknown, dto: Type | undefined): Promise<unknown> {
    await Promise.resolve();
    if (!(value instanceof RawBody)) throw new ApiError(400, 'MALFORMED_JSON', 'The body is empty; send a JSON object');
    const parsed = value.json();
    return dto === undefined ? parsed : validMembers(dto, parsed);
  }
}

/**
 * Parsed JSON as an instance of a DTO class; its rules for what does not come through a route, too.
 * @throws {ApiError} 400 with a detail for each fault
 */
export function validMembers(dto: Type, parsed: unknown): object {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ApiError(400, 'INVALID_REQUEST', `The body must be a JSON object, not ${kindOf(parsed)}`, {
      details: [{ pointer: '', message: 'must be an object' }],
    });
  }
  return toDto(dto, parsed, memberFault);
}

type Fault = (name: string, message: string) => ErrorDetail;

const memberFault: Fault = (name, message) => ({
  pointer: `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  message,
});

const parameterFault: Fault = (parameter, message) => ({ parameter, message });

const PRIMITIVES: readonly unknown[] = [String, Number, Boolean, Array, Object, Buffer];

function isDto(metatype: ArgumentMetadata['metatype']): metatype is Type {
  return metatype !== undefined && !PRIMITIVES.includes(metatype);
}

/** Unknown members that are named; the rest would only make the answer longer than the request. */
const MOST_DETAILS = 10;

const membersOfDto = new Map<Type, ReadonlySet<string>>();

/** The members that the validation decorators of a DTO class name. */
function declaredMembers(dto: Type): ReadonlySet<string> {
  let members = membersOfDto.get(dto);
  if (members === undefined) {
    const metadata = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
    members = new Set(metadata.map(({ propertyName }) => propertyName));
    membersOfDto.set(dto, members);
  }
  return members;
}

function toDto(dto: Type, plain: object, fault: Fault): object {
  // Checked on the plain object: class-transformer drops `__proto__` and `constructor` without a word.
  const declared = declaredMembers(dto);
  const unknown = Object.keys(plain)
    .filter((name) => !declared.has(name))
    .slice(0, MOST_DETAILS);
  const details = unknown.map((name) => fault(name, `is not known here; known are ${[...declared].join(', ')}`));
  if (details.length > 0) throw invalidRequest(details);
  for (const [name, value] of Object.entries(plain)) {
    const reason = hostility(value);
    if (reason !== undefined) throw invalidRequest([fault(name, reason)]);
  }
  const instance = plainToInstance(dto, plain) as object;
  const errors = validateSync(instance, { forbidUnknownValues: true });
  if (errors.length > 0) throw invalidRequest(errors.map((error) => fault(error.property, messageOf(error))));
  return instance;
}

/** Deeper than any DTO reaches, and far from where recursion ends. */
const DEPTH = 32;

/** What in a value must not reach class-transformer, which follows `constructor` and every depth. */
function hostility(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH) return `is nested deeper than ${DEPTH} levels`;
  for (const [name, member] of Object.entries(value)) {
    if (HOSTILE_NAMES.has(name)) return `has a member "${name}"`;
    const reason = hostility(member, depth + 1);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const HOSTILE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/** The message of the decorator nearest to the member: class-validator runs them from there outwards. */
function messageOf({ property, constraints = {} }: ValidationError): string {
  const message = Object.values(constraints)[0] ?? 'is not valid';
  return message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
