import { createRequire } from 'node:module';
import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { getMetadataStorage } from 'class-validator';
import { type QuickCheck, quickCheckOf } from './quick-check.js';

/** What `@Type(() => Other)` of class-transformer says of a property; the package has no public way to ask. */
interface TypeMetadata {
  readonly typeFunction: () => Type;
  readonly options?: { readonly discriminator?: unknown };
}

interface TransformerStorage {
  findTypeMetadata(target: Type, property: string): TypeMetadata | undefined;
  /** `none` unless the class itself has `@Expose()` or `@Exclude()`. */
  getStrategy(target: Type): string;
  findExposeMetadata(target: Type, property: string): unknown;
  findExcludeMetadata(target: Type, property: string): unknown;
  findTransformMetadatas(target: Type, property: string, type: TransformationType): readonly unknown[];
}

const { defaultMetadataStorage: transformers } = createRequire(import.meta.url)('class-transformer/cjs/storage.js') as {
  defaultMetadataStorage: TransformerStorage;
};

/** A property that holds an instance of another DTO class, or with `isArray` an array of them. */
export interface NestedDto {
  readonly dto: Type;
  readonly isArray: boolean;
}

/** What the decorators of a DTO class say; they do not change. */
export interface DtoProperties {
  /** The properties that validation decorators name, in the order of their declaration. */
  readonly declared: ReadonlySet<string>;
  readonly nested: ReadonlyMap<string, NestedDto>;
  /** Whether class-transformer would do no more than copy values that are no objects. */
  readonly isCopied: boolean;
  readonly quickCheck: QuickCheck;
  /** What of the class the validation does not support, one line each. */
  readonly errors: readonly string[];
}

const known = new Map<Type, DtoProperties>();

export function propertiesOf(dto: Type): DtoProperties {
  let properties = known.get(dto);
  if (properties === undefined) {
    properties = read(dto, new Set());
    known.set(dto, properties);
  }
  return properties;
}

/** Of inherited properties first, as they are declared and as the document has them; class-validator puts them last. */
function validatorsOf(dto: Type) {
  const all = getMetadataStorage().getTargetValidationMetadatas(dto, '', true, false);
  const inherited = all.filter(({ target }) => target !== dto);
  return [...inherited, ...all.filter(({ target }) => target === dto)];
}

/** @param outer the classes that lead here: one may contain itself */
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
  const path = new Set([...outer, dto]);
  const inner = [...nested.values()].filter((each) => !path.has(each.dto)).map((each) => read(each.dto, path));
  return {
    declared,
    nested,
    isCopied: transformers.getStrategy(dto) === 'none' && [...declared].every((name) => isCopied(dto, name)),
    quickCheck: quickCheckOf(validators),
    errors: [...errors, ...inner.flatMap((each) => each.errors)],
  };
}

type Validator = ReturnType<typeof validatorsOf>[number];

function isCopied(dto: Type, name: string): boolean {
  const { PLAIN_TO_CLASS } = TransformationType;
  return (
    !(name in (dto.prototype as object)) &&
    transformers.findTypeMetadata(dto, name) === undefined &&
    transformers.findExposeMetadata(dto, name) === undefined &&
    transformers.findExcludeMetadata(dto, name) === undefined &&
    transformers.findTransformMetadatas(dto, name, PLAIN_TO_CLASS).length === 0
  );
}

function nestedDto(dto: Type, name: string, validators: Validator[], errors: string[]): NestedDto | undefined {
  const where = `${dto.name}.${name}`;
  const validateNested = validators.find(({ type }) => type === 'nestedValidation');
  const type = transformers.findTypeMetadata(dto, name);
  if (validators.some((each) => each.type === 'promiseValidation')) errors.push(`${where} cannot be a promise`);
  if (type?.options?.discriminator !== undefined) errors.push(`${where} cannot be of several classes (discriminator)`);
  const declaredType: unknown = Reflect.getMetadata('design:type', dto.prototype as object, name);
  const other = type?.typeFunction() ?? (declaredType as Type | undefined);
  if (validateNested === undefined) {
    if (isDto(other)) errors.push(`${where} is a ${other.name} that nothing validates: add @ValidateNested()`);
    return undefined;
  }
  if (type === undefined || !isDto(other)) {
    errors.push(`${where} has @ValidateNested() and needs @Type(() => ...) with a DTO class, too`);
    return undefined;
  }
  return { dto: other, isArray: validateNested.each || declaredType === Array };
}

/** Whether a class has validation decorators. */
function isDto(type: unknown): type is Type {
  return typeof type === 'function' && validatorsOf(type as Type).length > 0;
}
