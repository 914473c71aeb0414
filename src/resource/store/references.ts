import type { Repository } from 'typeorm';
import { committed } from '../../database/engine.js';
import type { AnyResourceEntity } from '../resource-entity.js';
import { placeholders } from './resource-table.js';

type Key = number | string;

/** A foreign key value of a record without a referenced record. */
export interface MissingReference {
  readonly property: string;
  readonly value: Key;
  /** The referenced table. */
  readonly table: string;
}

/** A foreign key of one column. */
interface Reference {
  readonly property: string;
  readonly table: string;
  readonly column: string;
}

/** The foreign keys of a resource to other resources. An import checks them before it stores records. */
export class References {
  private readonly references: readonly Reference[];

  constructor(private readonly repository: Repository<AnyResourceEntity>) {
    const { foreignKeys, tableName } = repository.metadata;
    this.references = foreignKeys.flatMap(
      ({ columns, referencedColumns, referencedEntityMetadata: { tableName: table } }) => {
        const [column, referenced] = [columns[0], referencedColumns[0]];
        // A reference to the same resource may name a record of the same import.
        if (columns.length !== 1 || column === undefined || referenced === undefined || table === tableName) return [];
        return [{ property: column.propertyName, table, column: referenced.databaseName }];
      },
    );
  }

  /**
   * Looks up every reference in the committed state.
   * @returns for each record its first reference without a referenced record
   */
  async missing(records: readonly object[]): Promise<(MissingReference | undefined)[]> {
    const found = records.map<MissingReference | undefined>(() => undefined);
    for (const reference of this.references) {
      const values = records.map(
        (record) => (record as Readonly<Record<string, Key | null | undefined>>)[reference.property] ?? null,
      );
      const existing = await this.existing(reference, values);
      values.forEach((value, index) => {
        if (value === null || existing.has(String(value))) return;
        found[index] ??= { property: reference.property, value, table: reference.table };
      });
    }
    return found;
  }

  private async existing({ table, column }: Reference, values: readonly (Key | null)[]): Promise<Set<string>> {
    const distinct = [...new Set(values.filter((value) => value !== null))];
    if (distinct.length === 0) return new Set();
    const { dataSource } = this.repository.manager;
    const [sqlTable, sqlColumn] = [table, column].map((name) => dataSource.driver.escape(name));
    const rows = await committed(dataSource).query<{ value: Key }[]>(
      `SELECT ${sqlColumn} AS value FROM ${sqlTable} WHERE ${sqlColumn} IN (${placeholders(distinct)})`,
      distinct,
    );
    return new Set(rows.map(({ value }) => String(value)));
  }
}
