import { applyDecorators } from '@nestjs/common';
import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, Min, ValidateBy, type ValidationArguments } from 'class-validator';
import { IsOptionalNotNull } from '../../http/validation/is-optional-not-null.decorator.js';
import { QueryInteger } from '../../http/validation/query-values.js';
import type { ResourceName } from '../resource-name.js';
import { CURSOR, CURSOR_PATTERN, positionOf } from './cursor.js';
import type { Sorts } from './list-declaration.js';

const ID_SORTS = ['id', '-id'];
const NOT_AN_ID = 'must be given once, as the id of the last record seen, or 0';

/** The `sort` parameter: the id or one of these properties. */
export function SortParameter(name: ResourceName, sorts: Sorts): PropertyDecorator {
  const properties = ['id', ...Object.keys(sorts)];
  const values = properties.flatMap((property) => [property, `-${property}`]);
  // Names for client generators, which cannot derive them from values such as `-id`.
  const enumSchema = { default: 'id', 'x-enum-varnames': properties.flatMap(variableNames) };
  const byId = 'Oldest first (`id`) or newest first (`-id`).';
  const description =
    properties.length === 1
      ? byId
      : 'In ascending order of this property, or with `-` in descending order; equal ones by id in the same direction. Records ' +
        'without a value come last in both directions.';
  return applyDecorators(
    ApiPropertyOptional({
      enum: values,
      enumName: `${name.typeName}Sort`,
      enumSchema,
      description,
    }),
    IsOptionalNotNull(),
    IsIn(values, { message: `must be given once, as one of ${values.join(', ')}` }),
  );
}

function variableNames(property: string): string[] {
  const capitalized = property.charAt(0).toUpperCase() + property.slice(1);
  return [`${capitalized}Ascending`, `${capitalized}Descending`];
}

/** The `after` parameter: an id, or a cursor when the list is sorted by one of these properties. */
export function AfterParameter(sorts: Sorts): PropertyDecorator {
  return Object.keys(sorts).length === 0 ? AfterId() : AfterIdOrCursor(sorts);
}

function AfterId(): PropertyDecorator {
  const error = { message: NOT_AN_ID };
  return applyDecorators(
    ApiPropertyOptional({
      type: 'integer',
      format: 'int64',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      example: 0,
      description: 'Only records that come after the one with this id; 0 begins at the beginning.',
    }),
    IsOptionalNotNull(),
    QueryInteger(),
    IsInt(error),
    Min(0, error),
  );
}

function AfterIdOrCursor(sorts: Sorts): PropertyDecorator {
  return applyDecorators(
    ApiPropertyOptional({
      type: 'string',
      pattern: CURSOR_PATTERN,
      example: '0',
      description:
        'Only records that come after this one: by id, the id of the last record seen; by another property, `after` of the ' +
        'link to the next page, unchanged. `0` begins at the beginning.',
    }),
    IsOptionalNotNull(),
    QueryInteger(),
    ValidateBy({
      name: 'isAfter',
      validator: {
        validate: (value, argumentsOf) => isPlace(value, sortOf(argumentsOf!), sorts),
        defaultMessage: (argumentsOf) => {
          if (ID_SORTS.includes(sortOf(argumentsOf!))) return NOT_AN_ID;
          return 'must be given once, as in the link to the next page of a list with this sort, or 0';
        },
      },
    }),
  );
}

const sortOf = ({ object }: ValidationArguments): string => (object as { sort?: string }).sort ?? 'id';

/** @param value a whole number, or the string it was */
function isPlace(value: unknown, sort: unknown, sorts: Sorts): boolean {
  if (value === 0) return true;
  if (typeof sort !== 'string' || ID_SORTS.includes(sort)) return typeof value === 'number';
  const property = sort.replace(/^-/, '');
  if (typeof value !== 'string') return false;
  // The check on `sort` reports unknown sorts.
  if (!Object.hasOwn(sorts, property)) return CURSOR.test(value);
  return positionOf(value, property, sorts[property]!) !== undefined;
}
