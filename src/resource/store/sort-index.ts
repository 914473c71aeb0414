import type { EntityMetadata } from 'typeorm';
import type { RecordColumn } from './record-columns.js';

/** Sortable kinds of columns. Strings are missing, because each database orders them differently. */
const SORTED_KINDS = ['integer', 'real', 'decimal', 'day', 'date'];

/** Explains why a column is not sortable and what is missing; `undefined` when it is. */
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

/** Tells whether a complete index begins with the column and the id. */
function hasIndex({ indices }: EntityMetadata, property: string): boolean {
  return indices.some(({ columns: [first, second], where }) => {
    return first?.propertyName === property && second?.propertyName === 'id' && !where;
  });
}
