import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions, IntersectionType } from '@nestjs/swagger';
import { Type as TypeOf } from 'class-transformer';
import {
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { IsCodePointLength, IsOptionalNotNull, TEXT_PATTERN } from '../http/validation/property-decorators.js';
import { Parsed } from '../http/validation/query-values.js';
import { type Id, type IdKind, INTEGER_IDS } from './id-kinds.js';
import { DATE_SCHEMA, DATE_TIME_SCHEMA, MOST_DIGITS, PARSERS } from './value-parsers.js';

/** Validates the id of a record; with `each`, every element of an array. */
export function IsRecordId({ isId, message }: IdKind = INTEGER_IDS, { each = false } = {}): PropertyDecorator {
  return ValidateBy({ name: 'isRecordId', validator: { validate: isId, defaultMessage: () => message } }, { each });
}

/** Validates an integer from `min` to `max`, with one message for every other value. */
export function IsWholeNumber(min: number, max: number, message: string): PropertyDecorator {
  return applyDecorators(IsInt({ message }), Min(min, { message }), Max(max, { message }));
}

export interface PropertyOptions {
  readonly description?: string;
  readonly example?: unknown;
  /** The property may be absent or `null`. */
  readonly isOptional?: boolean;
  /** The value of a new record without the property, equal to the default in the entity. The controller uses it. */
  readonly default?: string | number | boolean;
}

export interface NamedEnum {
  readonly enum: readonly string[];
  readonly enumName: string;
}

/** A string of `min` to `max` Unicode code points. */
export function TextProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const schema = { type: 'string', minLength: min, maxLength: max, pattern: TEXT_PATTERN } as const;
  return property(schema, options, IsCodePointLength(min, max));
}

/** An integer from `min` to `max`, both within ±(2^53 - 1). */
export function IntegerProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const message = `must be a whole number from ${min} to ${max}`;
  const format = Math.max(-min, max) < 2 ** 31 ? 'int32' : 'int64';
  const schema = { type: 'integer', format, minimum: min, maximum: max, example: min } as const;
  return property(schema, options, IsWholeNumber(min, max, message));
}

export function NumberProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const message = { message: `must be a number from ${min} to ${max}` };
  const schema = { type: 'number', minimum: min, maximum: max, example: min } as const;
  return property(schema, options, IsNumber({}, message), Min(min, message), Max(max, message));
}

export function BooleanProperty(options?: PropertyOptions): PropertyDecorator {
  return property({ type: 'boolean', example: true }, options, IsBoolean({ message: 'must be true or false' }));
}

export function EnumProperty(values: NamedEnum, options?: PropertyOptions): PropertyDecorator {
  // OpenAPI 3.0 has no way to make a named schema nullable, so an optional property has the values inline.
  const schema = options?.isOptional ? { type: 'string' as const, enum: [...values.enum, null] } : values;
  return property(schema, options, IsIn(values.enum));
}

export function IdProperty({
  ids = INTEGER_IDS,
  ...options
}: PropertyOptions & { readonly ids?: IdKind } = {}): PropertyDecorator {
  return property(ids.schema, options, IsRecordId(ids));
}

/**
 * A decimal of at most `precision` digits, `scale` of them after the decimal point, such as money; a string in JSON, so
 * that no client rounds it. `12.5` becomes `12.50`.
 * @param precision at most 15, the limit of SQLite
 * @param options `minimum`: the least value. The schema has it as an extension, because client generators take the
 * `minimum` of a string for its length.
 */
export function DecimalProperty(
  precision: number,
  scale: number,
  { minimum, ...options }: PropertyOptions & { readonly minimum?: number } = {},
): PropertyDecorator {
  const whole = precision - scale;
  if (whole < 1 || precision > MOST_DIGITS)
    throw new Error(
      `decimal(${precision}, ${scale}) must have 1 to ${MOST_DIGITS} digits, at least one before the point`,
    );
  const fraction = scale === 0 ? '' : `(\\.[0-9]{1,${scale}})?`;
  const sign = minimum !== undefined && minimum >= 0 ? '' : '(?!-0(\\.0*)?$)-?';
  const pattern = `^${sign}(0|[1-9][0-9]{0,${whole - 1}})${fraction}$`;
  const example = Math.max(whole === 1 ? 2.5 : 12.5, minimum ?? 0).toFixed(scale);
  const least = minimum === undefined ? '' : `, not less than ${minimum}`;
  const message = `must be a decimal as a text, such as "${example}", with at most ${whole} digits before the point and ${scale} behind it${least}`;
  const schema = { type: 'string', format: 'decimal', pattern, example, 'x-minimum': minimum } as const;
  const isValid = new RegExp(pattern);
  return parsedProperty(schema, options, message, (text) => {
    if (!isValid.test(text) || PARSERS.decimal(text) === undefined) return undefined;
    if (minimum !== undefined && Number(text) < minimum) return undefined;
    const [integer, digits = ''] = text.split('.');
    return scale === 0 ? integer : `${integer}.${digits.padEnd(scale, '0')}`;
  });
}

/** A day without a time, as text: `2026-01-31`. */
export function DateProperty(options?: PropertyOptions): PropertyDecorator {
  return parsedProperty(DATE_SCHEMA, options, 'must be a date (RFC 3339), such as 2026-01-31', PARSERS.date);
}

/** An instant: text with an offset and at most milliseconds in JSON, a `Date` here. */
export function DateTimeProperty(options?: PropertyOptions): PropertyDecorator {
  const message =
    'must be a date and time with its offset and at most milliseconds (RFC 3339), such as 2026-01-31T12:00:00Z';
  return parsedProperty(DATE_TIME_SCHEMA, options, message, PARSERS['date-time']);
}

/** A UUID (RFC 9562) of any version. It becomes lower case. */
export function UuidProperty(options?: PropertyOptions): PropertyDecorator {
  const pattern = '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$';
  const example = '01999999-0000-7000-8000-000000000000';
  const schema = { type: 'string', format: 'uuid', pattern, example } as const;
  const isUuid = new RegExp(pattern);
  return parsedProperty(schema, options, 'must be a UUID with hyphens (RFC 9562)', (text) =>
    isUuid.test(text) ? text.toLowerCase() : undefined,
  );
}

/**
 * An object with its own DTO class, such as an address. Its column is `@Column('simple-json')`, JSON as text on
 * both engines. PATCH replaces it whole; lists have no filter or sort by it. An instant inside stays a string.
 */
export function JsonProperty(dto: () => Type, options?: Omit<PropertyOptions, 'default'>): PropertyDecorator {
  const message = { message: 'must be an object' };
  // `@nestjs/swagger` recognises a function of a type by the name `type`.
  const schema = { type: () => dto() };
  return property(schema, options, IsObject(message), ValidateNested(message), TypeOf(dto));
}

function parsedProperty(
  schema: ApiPropertyOptions,
  options: PropertyOptions | undefined,
  message: string,
  parse: (text: string) => unknown,
): PropertyDecorator {
  const isValid = (value: unknown): boolean =>
    value instanceof Date || (typeof value === 'string' && parse(value) !== undefined);
  const validator = { validate: isValid, defaultMessage: () => message };
  return property(schema, options, Parsed(parse), ValidateBy({ name: 'isParsed', validator }));
}

function property(
  schema: ApiPropertyOptions,
  { isOptional = false, ...documented }: PropertyOptions = {},
  ...validators: PropertyDecorator[]
): PropertyDecorator {
  const options = { ...schema, ...documented } as ApiPropertyOptions;
  if (isOptional)
    return applyDecorators(ApiPropertyOptional({ ...options, nullable: true }), IsOptional(), ...validators);
  if (documented.default === undefined) return applyDecorators(ApiProperty(options), ...validators);
  return applyDecorators(ApiPropertyOptional(options), IsOptionalNotNull(), ...validators);
}

/** The base class of a record DTO: the id and the properties of the POST body. Give the name if ids are no integers. */
export function RecordOf<T extends object, I extends Id = number>(
  createDto: Type<T>,
  { ids }: { readonly ids: IdKind<I> } = { ids: INTEGER_IDS as IdKind as IdKind<I> },
): Type<{ id: I } & T> {
  class Identified {
    @ApiProperty(ids.schema)
    id!: I;
  }
  return IntersectionType(Identified, createDto) as Type<{ id: I } & T>;
}
