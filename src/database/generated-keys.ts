import type { EntityMetadata } from 'typeorm';

interface Generated {
  readonly isGenerated?: boolean;
  readonly generationStrategy?: string;
}

/** Tells whether a column is a number that the database generates. */
export const isAutoIncrement = ({ isGenerated, generationStrategy }: Generated): boolean =>
  isGenerated === true && generationStrategy === 'increment';

/** Makes generated keys of `bigint` numbers: TypeORM would make them strings, and `save` would not find their rows. */
export function useNumberKeys(entities: readonly EntityMetadata[]): void {
  const columns = entities.flatMap((entity) => entity.columns);
  // Another name of the same type.
  for (const column of columns) if (isAutoIncrement(column) && column.type === 'bigint') column.type = 'int8';
}
