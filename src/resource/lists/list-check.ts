import type { ResourceName } from '../resource-name.js';
import type { RecordColumn } from '../store/record-columns.js';
import type { ResourceTable } from '../store/resource-table.js';
import { declarationsOf, type ListDeclaration, type ValueType } from './list-declaration.js';

const KINDS: Readonly<Record<ValueType, RecordColumn['kind']>> = {
  integer: 'integer',
  number: 'real',
  decimal: 'decimal',
  date: 'day',
  'date-time': 'date',
};

const COLUMNS: Readonly<Record<ValueType, string>> = {
  integer: 'needs a column of integers',
  number: 'needs a column of double precision',
  decimal: 'needs a column of decimals',
  date: 'needs a column of days',
  'date-time': 'needs a column of instants',
};

/**
 * Compares the declared filters, ranges and sorts of a resource with its table at start.
 * @throws {Error} for properties that the records do not have, that are of another type, or that have no index to sort by
 */
export function checkLists(name: ResourceName, table: ResourceTable): void {
  for (const declaration of declarationsOf(name)) checkList(declaration, table);
}

function checkList({ filters, bounds, sorts }: ListDeclaration, table: ResourceTable): void {
  for (const property of filters) table.column(property);
  for (const { property, type } of bounds) checkType(table, property, type);
  for (const [property, type] of Object.entries(sorts)) {
    table.sortableColumn(property);
    checkType(table, property, type);
  }
}

function checkType(table: ResourceTable, property: string, type: ValueType): void {
  const { kind, isSinglePrecision } = table.column(property);
  if (kind === KINDS[type] && !isSinglePrecision) return;
  const found = isSinglePrecision ? 'real' : kind;
  throw new Error(`The list of ${table.name} has ${property} as ${type}, which ${COLUMNS[type]}, and not ${found}`);
}
