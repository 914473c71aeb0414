import { createRequire } from 'node:module';
import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { type ValidationError, Validator } from 'class-validator';
import type { ValidationExecutor } from 'class-validator/types/validation/ValidationExecutor.js';
import { ApiError, type ErrorDetail, invalidRequest } from '../errors/api-error.js';
import { propertiesOf } from './dto-properties.js';

/** Turns the path to a value and what is wrong with it into a detail of the response. */
type Detail = (path: readonly string[], message: string) => ErrorDetail;

export const propertyDetail: Detail = (path, message) => ({
  pointer: path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  message,
});

export const parameterDetail: Detail = (path, message) => ({ parameter: path.join('.'), message });

/** Details of one response; more would only make it longer than the request. */
const MOST_DETAILS = 10;

/**
 * Parsed JSON as an instance of a DTO class; its rules for what does not come through a route, too.
 * @throws {ApiError} 400 with a detail for each error
 * @throws {TypeError} for a class with asynchronous validators
 */
export function validMembers(dto: Type, parsed: unknown): object {
  const instance = toDto(dto, requireObject(parsed), propertyDetail);
  if (instance instanceof Promise) throw new TypeError(`${dto.name} has asynchronous validators`);
  return instance;
}

/** The same; a promise only where the class has asynchronous validators. */
export function validObject(dto: Type, parsed: unknown): object | Promise<object> {
  return toDto(dto, requireObject(parsed), propertyDetail);
}

function requireObject(parsed: unknown): object {
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  throw new ApiError(400, 'INVALID_REQUEST', `The body must be a JSON object, not ${kindOf(parsed)}`, {
    details: [{ pointer: '', message: 'must be an object' }],
  });
}

/** @param path where the object stands in what is validated; empty for the whole */
export function toDto(
  dto: Type,
  plain: object,
  detail: Detail,
  path: readonly string[] = [],
): object | Promise<object> {
  // Checked on the plain object: class-transformer drops `__proto__` and `constructor` without a word.
  rejectUnknown(dto, plain, detail, path);
  for (const [name, value] of Object.entries(plain)) {
    const reason = unsafeKeyIn(value);
    if (reason !== undefined) throw invalidRequest([detail([...path, name], reason)]);
  }
  checkNested(dto, plain, detail, path);
  const instance = instanceOf(dto, plain);
  try {
    if (propertiesOf(dto).quickCheck(instance)) return instance;
  } catch {
    // class-validator meets the same error, and knows the property.
  }
  const executor = new Executor(validator, { forbidUnknownValues: true });
  const errors: ValidationError[] = [];
  try {
    executor.execute(instance, ANY_SCHEMA, errors);
  } catch {
    // A validator that throws rejects the value: `@IsEmail()` throws at a lone surrogate.
    innermost(errors).constraints = { throws: 'is not valid' };
  }
  const settled = () => accepted(instance, inOrder(dto, executor.stripEmptyErrors(errors)), detail, path);
  return executor.awaitingPromises.length === 0 ? settled() : Promise.all(executor.awaitingPromises).then(settled);
}

/** As `plainToInstance` makes it, which takes longer than all that is asked of a short object. */
function instanceOf(dto: Type, plain: object): object {
  const isCopied = propertiesOf(dto).isCopied && Object.values(plain).every((value) => typeof value !== 'object');
  return isCopied ? Object.assign(new dto() as object, plain) : (plainToInstance(dto, plain) as object);
}

/**
 * What `validate` and `validateSync` are made of: the one always costs a promise, the other accepts whatever an asynchronous
 * validator rejects, and the decorators do not tell which validators are asynchronous.
 */
const { ValidationExecutor: Executor } = createRequire(import.meta.url)(
  'class-validator/cjs/validation/ValidationExecutor.js',
) as { ValidationExecutor: typeof ValidationExecutor };
const validator = new Validator();
const ANY_SCHEMA = undefined as unknown as string;

/** The property that was looked at last. */
function innermost(errors: ValidationError[]): ValidationError {
  const last = errors.at(-1)!;
  return last.children?.length ? innermost(last.children) : last;
}

function accepted(instance: object, errors: ValidationError[], detail: Detail, path: readonly string[]): object {
  if (errors.length === 0) return instance;
  throw invalidRequest(errors.flatMap((error) => detailsOf(error, detail, path)));
}

/** In the order in which the class declares the properties; class-validator puts those of a parent class last. */
function inOrder(dto: Type, errors: ValidationError[]): ValidationError[] {
  if (errors.length < 2) return errors;
  const order = [...propertiesOf(dto).declared];
  return errors.sort((one, other) => order.indexOf(one.property) - order.indexOf(other.property));
}

function detailsOf(error: ValidationError, detail: Detail, path: readonly string[]): ErrorDetail[] {
  const place = [...path, error.property];
  const inner = (error.children ?? []).flatMap((child) => detailsOf(child, detail, place));
  return inner.length > 0 ? inner : [detail(place, messageOf(error))];
}

function rejectUnknown(dto: Type, plain: object, detail: Detail, path: readonly string[]): void {
  const { declared } = propertiesOf(dto);
  const unknown = Object.keys(plain)
    .filter((name) => !declared.has(name))
    .slice(0, MOST_DETAILS);
  if (unknown.length === 0) return;
  const message = `is not known here; known are ${[...declared].join(', ')}`;
  throw invalidRequest(unknown.map((name) => detail([...path, name], message)));
}

/** Nested DTOs are held to their own properties, and to what `@ValidateNested()` leaves open: an array is no object. */
function checkNested(dto: Type, plain: object, detail: Detail, path: readonly string[]): void {
  for (const [name, { dto: inner, isArray }] of propertiesOf(dto).nested) {
    const value = (plain as Record<string, unknown>)[name];
    if (value === undefined || value === null) continue;
    const place = [...path, name];
    if (isArray !== Array.isArray(value)) {
      throw invalidRequest([detail(place, isArray ? 'must be an array' : 'must be an object')]);
    }
    const items = isArray ? (value as unknown[]) : [value];
    items.forEach((item, index) => checkItem(inner, item, detail, isArray ? [...place, String(index)] : place));
  }
}

function checkItem(dto: Type, item: unknown, detail: Detail, path: readonly string[]): void {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw invalidRequest([detail(path, 'must be an object')]);
  }
  rejectUnknown(dto, item, detail, path);
  checkNested(dto, item, detail, path);
}

/** Deeper than any DTO reaches, and far from where recursion ends. */
const DEPTH = 32;

/** What in a value must not reach class-transformer, which follows `constructor` and every depth. */
function unsafeKeyIn(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH) return `is nested deeper than ${DEPTH} levels`;
  for (const [name, inner] of Object.entries(value)) {
    if (UNSAFE_KEYS.has(name)) return `has a property "${name}"`;
    const reason = unsafeKeyIn(inner, depth + 1);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const UNSAFE_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** The message of the first decorator that rejects the value, as they are written: it says what the value is at all. */
function messageOf({ property, constraints = {} }: ValidationError): string {
  // Decorators run from the last one to the first.
  const message = Object.values(constraints).at(-1) ?? 'is not valid';
  return message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
