import { TypeORMError } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

/** Digits that SQLite keeps of a decimal, stored as a double (https://sqlite.org/floatingpoint.html). */
const DIGITS = 15;

/** Sign, whole part, fraction and exponent of a decimal in the notation of PostgreSQL. */
const NOTATION = /^\s*([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:e([+-]?\d{1,4}))?\s*$/i;

/**
 * Converts a decimal to a string with the digits of its scale, as PostgreSQL returns it; returns other values
 * unchanged.
 */
export function hydratedDecimal(value: unknown, column: ColumnMetadata): unknown {
  if (typeof value !== 'number') return value;
  const scale = scaleOf(column);
  return scale === undefined ? String(value) : value.toFixed(scale);
}

/**
 * Rounds a decimal half away from zero to the scale of its column, as PostgreSQL does
 * (https://www.postgresql.org/docs/current/datatype-numeric.html); returns other values unchanged. It avoids
 * floating-point numbers: 1.005 with two digits is 1.01.
 * @throws {TypeORMError} for a value that is no decimal, or has more digits than its column or SQLite keeps
 */
export function storedDecimal(value: unknown, column: ColumnMetadata): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const parts = NOTATION.exec(String(value));
  if (parts === null) throw new TypeORMError(`${value} for ${column.propertyPath} is no decimal`);
  const [, sign, whole, fraction, exponent = '0'] = parts;
  const digits = whole! + fraction!;
  const scale = scaleOf(column);
  if (scale === undefined) {
    rejectTooManyDigits(digits.replace(/^0+/, '').length, value, column);
    return value;
  }
  const unscaled = roundDigits(digits, whole!.length + Number(exponent) + scale);
  rejectTooManyDigits(unscaled.toString().length, value, column);
  return withPoint(unscaled, scale, sign === '-');
}

/** The number of digits after the decimal point, as TypeORM declares it to PostgreSQL; `undefined` without a limit. */
function scaleOf({ precision, scale }: ColumnMetadata): number | undefined {
  if (precision === undefined || precision === null) return undefined;
  return scale ?? 0;
}

/** The number of the first `count` digits, rounded by the next digit. */
function roundDigits(digits: string, count: number): bigint {
  if (count < 0) return 0n;
  const truncated = BigInt(digits.slice(0, count).padEnd(count, '0'));
  return digits.charAt(count) >= '5' ? truncated + 1n : truncated;
}

function withPoint(unscaled: bigint, scale: number, isNegative: boolean): string {
  const digits = unscaled.toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const sign = isNegative && unscaled > 0n ? '-' : '';
  return scale === 0 ? sign + whole : `${sign}${whole}.${digits.slice(-scale)}`;
}

function rejectTooManyDigits(count: number, value: string | number, { precision, propertyPath }: ColumnMetadata): void {
  if (count > (precision ?? Infinity)) {
    throw new TypeORMError(
      `The decimal ${value} for ${propertyPath} has more digits than the ${precision} of its column`,
    );
  }
  if (count <= DIGITS) return;
  throw new TypeORMError(
    `The decimal ${value} for ${propertyPath} has more than ${DIGITS} digits, and SQLite would round it: ` +
      'use a column of text',
  );
}
