import { inspect } from 'node:util';
import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, ValidateBy, ValidateIf, type ValidationOptions, ValidationTypes } from 'class-validator';

const isPresent = (_object: unknown, value: unknown): boolean => value !== undefined;

/** Makes a property optional. Unlike `IsOptional` of class-validator, it does not accept `null`. */
export const IsOptionalNotNull = (): PropertyDecorator => ValidateIf(isPresent);

/**
 * The `pattern` of JSON Schema (ECMA-262) for strings without NUL and lone surrogates. It is correct with and without
 * the flag `u`, which JSON Schema recommends and many generators omit.
 */
export const TEXT_PATTERN = String.raw`^(?:[^\u0000\uD800-\uDFFF]|[\uD800-\uDBFF][\uDC00-\uDFFF])*$`;

/**
 * Validates a string of `min` to `max` Unicode code points, as JSON Schema, SQLite and PostgreSQL count them; `Length`
 * of class-validator ignores variation selectors. PostgreSQL cannot store NUL and lone surrogates: they are rejected.
 */
export function IsCodePointLength(min: number, max: number, options?: ValidationOptions): PropertyDecorator {
  const message = `must be a text of ${min} to ${max} characters, without NUL and lone surrogates`;
  const validate = (value: unknown): boolean => {
    // A code point has one or two UTF-16 units. The spread of a much longer text would take much memory.
    if (typeof value !== 'string' || value.length > 2 * max) return false;
    if (value.includes('\0') || !value.isWellFormed()) return false;
    const { length } = [...value];
    return length >= min && length <= max;
  };
  return ValidateBy({ name: 'isCodePointLength', validator: { validate, defaultMessage: () => message } }, options);
}

/** A property that holds an instance of another DTO class, or with `isArray` an array of them. */
export interface NestedDto {
  readonly dto: Type;
  readonly isArray: boolean;
}

/** The properties of a DTO class, read from its decorators. */
export interface DtoProperties {
  /** Properties with validation decorators, in the order of their declaration. */
  readonly declared: ReadonlySet<string>;
  readonly nested: ReadonlyMap<string, NestedDto>;
  /** Whether each property has `@IsOptionalNotNull()`, so that an object without properties is valid. */
  readonly areAllOptional: boolean;
  /** Unsupported declarations of the class, one line each. */
  readonly errors: readonly string[];
}

const known = new Map<Type, DtoProperties>();

export function propertiesOf(dto: Type): DtoProperties {
  const properties = known.get(dto) ?? read(dto, new Set());
  known.set(dto, properties);
  return properties;
}

/** Tells whether the validated DTO classes of this name have no other properties than these. */
export function declaresOnly(name: string, properties: object): boolean {
  return [...known].every(
    ([dto, { declared }]) => dto.name !== name || [...declared].every((each) => each in properties),
  );
}

/** The validators in the order of declaration, inherited ones first; class-validator puts inherited ones last. */
function validatorsOf(dto: Type) {
  const all = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  const inherited = all.filter(({ target }) => target !== dto);
  return [...inherited, ...all.filter(({ target }) => target === dto)];
}

/** @param outer the DTO classes that contain this one; a class may contain itself */
function read(dto: Type, outer: ReadonlySet<Type>): DtoProperties {
  const validators = validatorsOf(dto);
  const declared = new Set(validators.map(({ propertyName }) => propertyName));
  const nested = new Map<string, NestedDto>();
  const errors =
    declared.size === 0 ? [`${dto.name} has no validation decorators, so every property would be rejected`] : [];
  const inherited = [...declared].filter((name) => name in Object.prototype);
  errors.push(...inherited.map((name) => `${dto.name}.${name} has a name that every object has: choose another`));
  for (const name of declared) {
    const own = validators.filter(({ propertyName }) => propertyName === name);
    const property = nestedDto(dto, name, own, errors);
    if (property !== undefined) nested.set(name, property);
  }
  const optional = new Set(validators.filter(isOptionalNotNull).map(({ propertyName }) => propertyName));
  const path = new Set([...outer, dto]);
  const inner = [...nested.values()].filter((each) => !path.has(each.dto)).map((each) => read(each.dto, path));
  return {
    declared,
    nested,
    areAllOptional: optional.size === declared.size,
    errors: [...errors, ...inner.flatMap((each) => each.errors)],
  };
}

type Validator = ReturnType<typeof validatorsOf>[number];

const isOptionalNotNull = ({ type, constraints }: Validator): boolean =>
  type === ValidationTypes.CONDITIONAL_VALIDATION && constraints[0] === isPresent;

function nestedDto(dto: Type, name: string, validators: Validator[], errors: string[]): NestedDto | undefined {
  const where = `${dto.name}.${name}`;
  const validateNested = validators.find(({ type }) => type === ValidationTypes.NESTED_VALIDATION);
  if (validators.some(({ type }) => type === ValidationTypes.PROMISE_VALIDATION)) {
    errors.push(`${where} cannot be a promise`);
  }
  const declaredType: unknown = Reflect.getMetadata('design:type', dto.prototype as object, name);
  const type = transformedType(dto, name);
  if (validateNested === undefined) {
    const other = isDto(type) ? type : declaredType;
    if (isDto(other)) errors.push(`${where} is a ${other.name} that nothing validates: add @ValidateNested()`);
    return undefined;
  }
  if (typeof type !== 'function' || type === Object) {
    errors.push(`${where} has @ValidateNested() and needs @Type(() => ...) with a DTO class, too`);
    return undefined;
  }
  return { dto: type as Type, isArray: validateNested.each || declaredType === Array };
}

/** The class in `@Type(() => ...)`, found by a transformation, because class-transformer has no public API for it. */
function transformedType(dto: Type, name: string): unknown {
  const items = transformed(dto, { [name]: [{}] })?.[name];
  return Array.isArray(items) ? (items[0] as object | undefined)?.constructor : undefined;
}

/** The instance of a DTO before its validation; `undefined` if a `@Transform` throws, such as `value.trim()` of a number. */
export function transformed(dto: Type, plain: object): Record<string, unknown> | undefined {
  try {
    return plainToInstance(dto, plain) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Texts that transformations convert, such as `value === 'true'`, `value * 100`, `JSON.parse(value)`. */
const CONVERTIBLE = ['true', '12', '{}'];

/** The properties of a DTO that get another value when their `@Transform` runs again. */
export function changedAgain(dto: Type): string[] {
  const isChanged = (name: string, text: string): boolean => {
    const once = transformed(dto, { [name]: text })?.[name];
    // NaN is invalid, so it is not converted again.
    return (
      once !== undefined && !Number.isNaN(once) && inspect(once) !== inspect(transformed(dto, { [name]: once })?.[name])
    );
  };
  return [...propertiesOf(dto).declared].filter((name) => CONVERTIBLE.some((text) => isChanged(name, text)));
}

const isDto = (type: unknown): type is Type => typeof type === 'function' && validatorsOf(type as Type).length > 0;
