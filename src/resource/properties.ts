import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Max, Min } from 'class-validator';
import { IsCodePointLength, TEXT_PATTERN } from '../http/validation/is-code-point-length.decorator.js';
import { IsRecordId, RECORD_ID } from './record-id.js';

/** Documentation options of a property, besides its type and bounds. */
export interface PropertyOptions {
  readonly description?: string;
  readonly example?: unknown;
  /** The property may be absent or `null`. */
  readonly isOptional?: boolean;
}

/** A named enum for `@ApiProperty`. */
export interface NamedEnum {
  readonly enum: readonly string[];
  readonly enumName: string;
}

/** A string of `min` to `max` Unicode code points; validates and documents it. */
export function TextProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const schema = { type: 'string', minLength: min, maxLength: max, pattern: TEXT_PATTERN } as const;
  return property(schema, options, IsCodePointLength(min, max));
}

/** An integer from `min` to `max`, both within ±(2^53 - 1). */
export function IntegerProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const message = { message: `must be a whole number from ${min} to ${max}` };
  const schema = { type: 'integer', minimum: min, maximum: max, example: min } as const;
  return property(schema, options, IsInt(message), Min(min, message), Max(max, message));
}

/** A number from `min` to `max`. */
export function NumberProperty(min: number, max: number, options?: PropertyOptions): PropertyDecorator {
  const message = { message: `must be a number from ${min} to ${max}` };
  const schema = { type: 'number', minimum: min, maximum: max, example: min } as const;
  return property(schema, options, IsNumber({}, message), Min(min, message), Max(max, message));
}

export function BooleanProperty(options?: PropertyOptions): PropertyDecorator {
  return property({ type: 'boolean', example: true }, options, IsBoolean({ message: 'must be true or false' }));
}

/** One of the values of an enum. */
export function EnumProperty(values: NamedEnum): PropertyDecorator {
  return applyDecorators(ApiProperty(values), IsIn(values.enum));
}

/** The id of a record, such as a reference. */
export const IdProperty = (): PropertyDecorator => applyDecorators(ApiProperty(RECORD_ID), IsRecordId());

function property(
  schema: ApiPropertyOptions,
  { isOptional = false, ...documented }: PropertyOptions = {},
  ...validators: PropertyDecorator[]
): PropertyDecorator {
  const options = { ...schema, ...documented } as ApiPropertyOptions;
  if (!isOptional) return applyDecorators(ApiProperty(options), ...validators);
  return applyDecorators(ApiPropertyOptional({ ...options, nullable: true }), IsOptional(), ...validators);
}
