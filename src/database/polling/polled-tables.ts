import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { committed, type Sql } from '../engine.js';
import { DatabaseUnavailableError } from '../errors.js';

/** Milliseconds between two reads of the tables: a change reaches every process within 5 s. */
const POLL_INTERVAL = 2000;

/** A row with its columns as texts, because a restored file may have integers beyond 2^53 - 1. */
export type PolledRow<Column extends string = string> = Readonly<Record<Column, string>>;

/** A small table that every process keeps in memory. */
interface PolledTable<Column extends string = string> {
  readonly name: string;
  /** The rows are sorted by these columns. */
  readonly columns: readonly Column[];
  /** Receives the rows of each read. If it rejects, the rows of the next read count as changed. */
  onRead(rows: readonly PolledRow<Column>[], isChanged: boolean): void | Promise<void>;
}

/**
 * Polls small tables with one statement, so that a change reaches every worker and replica within 5 s; if it fails,
 * with one statement for each table. During an outage of the database, the last rows stay in force.
 */
@Injectable()
export class PolledTables implements OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly tables: PolledTable[] = [];
  /** The last rows of each table as JSON. */
  private readonly known = new Map<PolledTable, string>();
  /** The names of the tables whose last read has failed. */
  private failing = '';
  private isStopped = false;
  private timer?: NodeJS.Timeout;

  constructor(private readonly dataSource: DataSource) {}

  /** Reads the table now, and then with every poll. */
  async watch<Column extends string>(table: PolledTable<Column>): Promise<void> {
    const [error] = (await this.read([table])).values();
    if (error !== undefined) throw error;
    this.tables.push(table);
    if (this.timer === undefined) this.schedule();
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (!this.isStopped) this.timer = setTimeout(() => void this.poll(), POLL_INTERVAL).unref();
  }

  private async poll(): Promise<void> {
    const errors = await this.read([...this.tables]);
    const names = [...errors.keys()].join(' and ');
    const [error] = errors.values();
    if (error && names !== this.failing) this.logger.warn(`Changes of ${names} cannot be read: ${error.message}`);
    this.failing = names;
    this.schedule();
  }

  /** @returns the errors by the names of their tables */
  private async read(tables: readonly PolledTable[]): Promise<Map<string, Error>> {
    const errors = new Map<string, Error>();
    try {
      const all = await readTables(committed(this.dataSource), tables);
      for (const [index, table] of tables.entries()) {
        await this.pass(table, all[index]!).catch((error: Error) => errors.set(table.name, error));
      }
    } catch (error) {
      const isOutage = error instanceof DatabaseUnavailableError && error.kind !== 'damaged';
      if (isOutage || tables.length === 1) return new Map(tables.map(({ name }) => [name, error as Error]));
      // The error of one table must not keep others, such as that of revoked tokens, from being read.
      for (const table of tables) (await this.read([table])).forEach((each, name) => errors.set(name, each));
    }
    return errors;
  }

  private async pass(table: PolledTable, rows: readonly PolledRow[]): Promise<void> {
    const known = JSON.stringify(rows);
    const isChanged = known !== this.known.get(table);
    if (isChanged) this.known.delete(table);
    await table.onRead(rows, isChanged);
    this.known.set(table, known);
  }
}

/** The rows of each table, read in one statement. */
export async function readTables(
  sql: Sql,
  tables: readonly Pick<PolledTable, 'name' | 'columns'>[],
): Promise<PolledRow[][]> {
  const width = Math.max(...tables.map(({ columns }) => columns.length));
  const selects = tables.map(({ name, columns }, table) => {
    const values = Array.from(
      { length: width },
      (_, index) => `CAST(${columns[index] ?? 'NULL'} AS text) AS c${index}`,
    );
    return `SELECT ${table} AS source, ${values.join(', ')} FROM ${name}`;
  });
  const order = Array.from({ length: width + 1 }, (_, index) => index + 1).join(', ');
  const found = await sql.query<({ source: number } & PolledRow)[]>(
    `${selects.join(' UNION ALL ')} ORDER BY ${order}`,
    [],
  );
  return tables.map(({ columns }, table) =>
    found
      .filter(({ source }) => source === table)
      .map((row) => Object.fromEntries(columns.map((column, index) => [column, row[`c${index}`]!]))),
  );
}
