import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/is-optional-not-null.decorator.js';
import { Bound, type RangeBound, type ValueType } from './list-declaration.js';
import { DATE_PATTERN, DATE_TIME_PATTERN, MOST_DIGITS, PARSERS } from '../value-parsers.js';

/** Smallest and largest value of a bound, both included; any other value is 400. Not for dates and instants. */
export interface RangeLimits {
  readonly minimum?: number;
  readonly maximum?: number;
}

/**
 * A range parameter: `quantityFrom` selects `quantity >= value`, `quantityTo` selects `quantity <= value`. Records without a value
 * are in no range. A range whose end is before its start selects nothing.
 * @param type of the column: `integer`, `number` for `double precision`, `decimal` or `date`, whose bounds are strings, or `date-time`,
 * which makes the property a `Date`
 * @throws {Error} for a property whose name ends neither in `From` nor in `To`
 */
export function RangeFilter(type: ValueType, description: string, limits: RangeLimits = {}): PropertyDecorator {
  const { schema, message } = describe(type, limits);
  const validate = (value: unknown): boolean => isWithin(type, value, limits);
  return applyDecorators(
    (target: object, parameter: string | symbol) => Bound(boundOf(String(parameter), type))(target, parameter),
    ApiPropertyOptional({ ...schema, description }),
    IsOptionalNotNull(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? (PARSERS[type](value) ?? value) : value)),
    ValidateBy({
      name: 'isRangeBound',
      validator: { validate, defaultMessage: () => message },
    }),
  );
}

function boundOf(parameter: string, type: ValueType): RangeBound {
  const [, property, end] = /^(.+)(From|To)$/.exec(parameter) ?? [];
  if (property === undefined) {
    throw new Error(`@RangeFilter is for properties such as quantityFrom and quantityTo, not for ${parameter}`);
  }
  return { parameter, property, end: end === 'From' ? 'from' : 'to', type };
}

function isWithin(type: ValueType, value: unknown, { minimum = -Infinity, maximum = Infinity }: RangeLimits): boolean {
  if (value instanceof Date) return true;
  // A string that its parser has not accepted is still there.
  if (typeof value === 'string' && (type === 'date' || type === 'decimal')) {
    if (PARSERS[type](value) === undefined) return false;
    return type === 'date' || (Number(value) >= minimum && Number(value) <= maximum);
  }
  return typeof value === 'number' && value >= minimum && value <= maximum;
}

function describe(type: ValueType, limits: RangeLimits) {
  switch (type) {
    case 'integer': {
      const { minimum = -Number.MAX_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = limits;
      return {
        schema: { type: 'integer', format: 'int64', minimum, maximum },
        message: `must be given once, as a whole number from ${minimum} to ${maximum}`,
      } as const;
    }
    case 'number':
      return {
        schema: { type: 'number', format: 'double', ...limits },
        message: `must be given once, as a number such as -12.5, without an exponent${limitsText(limits)}`,
      } as const;
    case 'decimal':
      return {
        schema: { type: 'string', format: 'decimal', example: '12.50' },
        message: `must be given once, as a decimal such as -12.50 of at most ${MOST_DIGITS} digits${limitsText(limits)}`,
      } as const;
    case 'date':
      return {
        schema: { type: 'string', format: 'date', pattern: DATE_PATTERN, example: '2026-01-31' },
        message: 'must be given once, as a date (RFC 3339), such as 2026-01-31',
      } as const;
    case 'date-time':
      return {
        schema: { type: 'string', format: 'date-time', pattern: DATE_TIME_PATTERN, example: '2026-01-31T12:00:00Z' },
        message:
          'must be given once, as a date and time with its offset and at most milliseconds (RFC 3339), ' +
          'such as 2026-01-31T12:00:00Z or 2026-01-31T14:00:00%2B02:00',
      } as const;
  }
}

function limitsText({ minimum, maximum }: RangeLimits): string {
  const from = minimum === undefined ? '' : `, from ${minimum}`;
  return maximum === undefined ? from : `${from}, up to ${maximum}`;
}
