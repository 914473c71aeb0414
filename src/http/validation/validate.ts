import { HttpException, type Type, ValidationPipe } from '@nestjs/common';
import * as classTransformer from 'class-transformer';
import * as classValidator from 'class-validator';
import { ApiError, type ErrorDetail, invalidRequest } from '../errors/api-error.js';
import { propertiesOf, transformed } from './property-decorators.js';

type ValidationError = classValidator.ValidationError;

/** Makes a detail of the response from the path of a value and an error message. */
export type Detail = (path: readonly string[], message: string) => ErrorDetail;

export const propertyDetail: Detail = (path, message) => ({
  pointer: path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  message,
});

export const parameterDetail: Detail = (path, message) => ({ parameter: path.join('.'), message });

/** Makes the details of values below a property or parameter. */
export const below =
  (detail: Detail, name: string): Detail =>
  (path, message) =>
    detail([name, ...path], message);

/** Nest's pipe. A validator that throws rejects the value; `@IsEmail()` throws at a lone surrogate. */
class DtoPipe extends ValidationPipe {
  protected override validate(object: object, options?: classValidator.ValidatorOptions): Promise<ValidationError[]> {
    return attempt(object, options) ?? throwing(object);
  }
}

/** The errors of an object, which `toDto` turns into details. */
class ValidationFailure extends Error {
  constructor(readonly errors: ValidationError[]) {
    super();
  }
}

const PIPE = new DtoPipe({
  transform: true,
  forbidUnknownValues: true,
  validatorPackage: classValidator,
  transformerPackage: classTransformer,
  exceptionFactory: (errors) => new ValidationFailure(errors),
});

/** Validates an object; `undefined` if a validator throws synchronously. A rejection is an error of the service. */
function attempt(object: object, options?: classValidator.ValidatorOptions): Promise<ValidationError[]> | undefined {
  try {
    return classValidator.validate(object, options);
  } catch {
    return undefined;
  }
}

/** The property whose validator throws, found by validating each property alone. */
async function throwing(object: object): Promise<ValidationError[]> {
  const dto = object.constructor as Type<object>;
  for (const [property, value] of Object.entries(object) as [string, unknown][]) {
    const alone = attempt(Object.assign(new dto(), { [property]: value }));
    if (alone === undefined) return [{ property, constraints: { throws: 'is not valid' } }];
    await alone.catch(() => undefined);
  }
  return [{ property: '', constraints: { throws: 'is not valid' } }];
}

/** Validates parsed JSON and converts it to a DTO. It throws an `ApiError` as `toDto` does. */
export function validObject(dto: Type, parsed: unknown): Promise<object> {
  if (isObject(parsed)) return toDto(dto, parsed, propertyDetail);
  throw new ApiError(400, 'INVALID_REQUEST', `The body must be a JSON object, not ${kindOf(parsed)}`, {
    details: [{ pointer: '', message: 'must be an object' }],
  });
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Validates a plain object and converts it to a DTO. It throws an `ApiError`, 400, with a detail for each error. */
export async function toDto(dto: Type, plain: unknown, detail: Detail): Promise<object> {
  // First, because this check limits the depth, and a class may contain itself.
  const entries = isObject(plain) ? Object.entries(plain) : [];
  for (const [name, value] of entries) requireSafeNames(value, below(detail, name));
  requireObject(dto, plain, detail);
  const empty = Object.keys(plain).length === 0 ? validEmpty(dto) : undefined;
  if (empty !== undefined) return empty;
  try {
    return (await PIPE.transform(plain, { type: 'body', metatype: dto })) as object;
  } catch (error) {
    if (error instanceof ValidationFailure) {
      throw invalidRequest(inOrder(dto, error.errors).flatMap((each) => detailsOf(each, detail)));
    }
    if (error instanceof HttpException || transformed(dto, plain) !== undefined) throw error;
    // A `@Transform` that throws rejects the value, as a validator does.
    const names = Object.keys(plain) as (keyof typeof plain)[];
    const wrong = names.find((name) => transformed(dto, { [name]: plain[name] }) === undefined);
    throw invalidRequest([detail(wrong === undefined ? [] : [wrong], 'is not valid')]);
  }
}

/** The DTO of a query without parameters, if it needs no validation. Defaults of the class are validated. */
function validEmpty(dto: Type): object | undefined {
  if (!propertiesOf(dto).areAllOptional) return undefined;
  const empty = classTransformer.plainToInstance(dto, {}) as object;
  return Object.values(empty).every((value) => value === undefined) ? empty : undefined;
}

/** Sorts errors by the declaration of their properties; class-validator puts inherited properties last. */
function inOrder(dto: Type, errors: ValidationError[]): ValidationError[] {
  const order = [...propertiesOf(dto).declared];
  return errors.sort((one, other) => order.indexOf(one.property) - order.indexOf(other.property));
}

function detailsOf(error: ValidationError, detail: Detail): ErrorDetail[] {
  const place = below(detail, error.property);
  const inner = (error.children ?? []).flatMap((child) => detailsOf(child, place));
  return inner.length > 0 ? inner : [place([], messageOf(error))];
}

/** The message of the first decorator that rejects the value, since the first one names its type. */
function messageOf({ property, constraints = {} }: ValidationError): string {
  // class-validator runs decorators from the last one to the first.
  const message = Object.values(constraints).at(-1) ?? 'is not valid';
  const rest = message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
  // The detail names the subject of a standard message. A message of a feature may be "price lists are closed".
  return /^(must|should|is) /.test(rest) ? rest : message;
}

export function messageOfNull(dto: Type, property: string): string {
  const errors = classValidator.validateSync(Object.assign(new dto() as object, { [property]: null }));
  const error = errors.find((each) => each.property === property);
  return error === undefined ? 'is not valid' : messageOf(error);
}

/**
 * Rejects properties that the class and its nested DTOs do not declare. The whitelist of class-validator accepts names
 * of `Object.prototype`, such as `toString`, and `@ValidateNested()` accepts an array for an object.
 */
function requireDeclared(dto: Type, plain: object, detail: Detail): void {
  const { declared, nested } = propertiesOf(dto);
  const unknown = Object.keys(plain).filter((name) => !declared.has(name));
  if (unknown.length > 0) {
    const message = `is not known here; known are ${[...declared].join(', ')}`;
    throw invalidRequest(unknown.map((name) => detail([name], message)));
  }
  for (const [name, { dto: inner, isArray }] of nested) {
    const value = (plain as Record<string, unknown>)[name];
    if (value === undefined || value === null) continue;
    const place = below(detail, name);
    if (isArray && !Array.isArray(value)) throw invalidRequest([place([], 'must be an array')]);
    if (!isArray) requireObject(inner, value, place);
    else (value as unknown[]).forEach((item, index) => requireObject(inner, item, below(place, String(index))));
  }
}

function requireObject(dto: Type, value: unknown, detail: Detail): asserts value is object {
  if (!isObject(value)) throw invalidRequest([detail([], 'must be an object')]);
  requireDeclared(dto, value, detail);
}

/** Rejects names at any depth that Nest's pipes would remove without an error. */
export function requireSafeNames(value: unknown, detail: Detail): void {
  const reason = unsafeNameIn(value);
  if (reason !== undefined) throw invalidRequest([detail([], reason)]);
}

/** Deepest nesting: more than any DTO needs, and far below the limit of recursion. */
const DEPTH = 32;

/** The error of a value that is nested too deep, or has an unsafe name at any depth; `undefined` if it is valid. */
function unsafeNameIn(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === DEPTH) return `is nested deeper than ${DEPTH} levels`;
  for (const [name, inner] of Object.entries(value)) {
    if (UNSAFE_NAMES.has(name)) return `has a property "${name}"`;
    const reason = unsafeNameIn(inner, depth + 1);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

const UNSAFE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
