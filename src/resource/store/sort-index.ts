import type { EntityMetadata } from 'typeorm';
import type { RecordColumn } from './record-columns.js';

/** Strings are not among them: each database has an order of its own for them. */
const SORTED_KINDS = ['integer', 'real', 'date'];

/** Why records cannot be sorted by a column, and what would be right; `undefined` when they can. */
export function sortProblem(
  entity: EntityMetadata,
  { property, kind, isSinglePrecision }: RecordColumn,
): string | undefined {
  if (!SORTED_KINDS.includes(kind)) {
    return `${property} is a ${kind}, and only numbers and dates have the same order on every engine`;
  }
  if (isSinglePrecision) return `${property} is real, which has other values on each engine: make it double precision`;
  if (hasIndex(entity, property)) return undefined;
  const columns = `['${property}', 'id']`;
  return (
    `${property} has no index together with the id: add @Index(${columns}) to ${entity.name}, and to a migration ` +
    `"indices: [${columns}]" of createResourceTable, or for a table that exists ` +
    `queryRunner.createIndex('${entity.tableName}', new TableIndex({ columnNames: ${columns} }))`
  );
}

/** Whether an index of all rows begins with the column and the id. */
function hasIndex({ indices }: EntityMetadata, property: string): boolean {
  return indices.some(({ columns: [first, second], where }) => {
    return first?.propertyName === property && second?.propertyName === 'id' && !where;
  });
}
