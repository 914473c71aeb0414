import { type EntityMetadata, QueryFailedError, type TableColumn } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';

type Generated = Partial<Pick<TableColumn, 'isGenerated' | 'generationStrategy'>>;

/** Tells whether a column is a number that the database generates. */
export const isAutoIncrement = ({ isGenerated, generationStrategy }: Generated): boolean =>
  isGenerated === true && generationStrategy === 'increment';

/** Makes generated keys of `bigint` numbers: TypeORM would make them strings, and `save` would not find their rows. */
export function useNumberKeys(entities: readonly EntityMetadata[]): void {
  const columns = entities.flatMap((entity) => entity.columns);
  // `int8` is the same type, and TypeORM does not convert it.
  for (const column of columns) if (isAutoIncrement(column) && column.type === 'bigint') column.type = 'int8';
}

/** Lets only the database count versions: `save` of an older state would set its version again. */
export function protectVersions(entities: readonly EntityMetadata[]): void {
  for (const { versionColumn } of entities) if (versionColumn !== undefined) versionColumn.isUpdate = false;
}

/** A value that its column cannot hold: 404 for a path parameter, otherwise 400, like this error of PostgreSQL. */
export class UnstorableValueError extends QueryFailedError {
  constructor(message: string, value?: unknown, column?: string) {
    // PostgreSQL names the parameter of the value in this way; see `constraintViolation`.
    super('', [value], Object.assign(new Error(message), { code: '22P02', column, where: '$1' }));
  }
}

/** Digits that SQLite keeps of a decimal, stored as a double (https://sqlite.org/floatingpoint.html). */
const DIGITS = 15;

const TYPES = new Set<unknown>(['decimal', 'dec', 'numeric', 'number']);

export const isDecimal = ({ type }: Pick<ColumnMetadata | TableColumn, 'type'>): boolean => TYPES.has(type);

/** A number in decimal notation, as PostgreSQL reads it. */
export const NUMBER_NOTATION = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,3})?\s*$/i;

/** Converts a decimal to text with the digits of its scale, as PostgreSQL returns it. Other values stay as they are. */
export function hydratedDecimal(value: unknown, column: ColumnMetadata): unknown {
  if (typeof value !== 'number') return value;
  const scale = scaleOf(column);
  if (scale !== undefined) return value.toFixed(scale);
  const text = String(value);
  return text.includes('e-') ? value.toFixed(DIGITS).replace(/\.?0+$/, '') : text;
}

/**
 * Rounds a decimal half away from zero to the scale of its column, as PostgreSQL does
 * (https://www.postgresql.org/docs/current/datatype-numeric.html); returns other values unchanged.
 * @throws {UnstorableValueError} for a value that is no decimal, or has more digits than its column or SQLite keeps
 */
export function storedDecimal(value: unknown, column: ColumnMetadata): unknown {
  if (typeof value === 'bigint') return storedDecimal(String(value), column);
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const { precision, propertyPath } = column;
  const wrong = (message: string): Error => new UnstorableValueError(message, value, propertyPath);
  if (!NUMBER_NOTATION.test(String(value))) throw wrong(`${value} for ${propertyPath} is no decimal`);
  const scale = scaleOf(column);
  const most = Math.min(precision ?? DIGITS, DIGITS);
  const fraction = scale ?? fractionDigits(value);
  const unscaled = shifted(Math.abs(Number(value)), fraction);
  if (!(unscaled < 10 ** most) || (scale === undefined && fraction > DIGITS)) {
    throw wrong(`The decimal ${value} for ${propertyPath} has more than ${most} digits`);
  }
  return scale === undefined ? value : Math.sign(Number(value)) * Number(`${unscaled}e-${scale}`);
}

/** The number of digits after the decimal point in a notation without exponent. */
function fractionDigits(value: string | number): number {
  const [, digits = '', exponent = '0'] = /(?:\.(\d*))?(?:e(.*))?\s*$/i.exec(String(value))!;
  return Math.max(0, digits.length - Number(exponent));
}

/** The number without its decimal point. A shift in decimal notation is exact: 1.005 * 100 would be 100.49999. */
function shifted(number: number, scale: number): number {
  const [digits, exponent = '0'] = String(number).split('e');
  return Math.round(Number(`${digits}e${Number(exponent) + scale}`));
}

/** The number of digits after the decimal point, as TypeORM declares it to PostgreSQL; `undefined` without a limit. */
export function scaleOf(column: ColumnMetadata | TableColumn): number | undefined {
  const { precision, scale } = column;
  return isDecimal(column) && typeof precision === 'number' ? (scale ?? 0) : undefined;
}
