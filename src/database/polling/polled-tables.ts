import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { reasonOf } from '../../logging/reason.js';
import { committed, type Sql } from '../engine.js';

/** Milliseconds between two reads of the tables. */
const POLL_INTERVAL = 2000;

/** A row with its columns as texts, because a restored file may have integers beyond 2^53 - 1. */
export type PolledRow<Column extends string = string> = Readonly<Record<Column, string>>;

/** A small table that every process keeps in memory. */
interface PolledTable<Column extends string = string> {
  readonly name: string;
  /** The rows are sorted by these columns. */
  readonly columns: readonly Column[];
  /** Receives the rows of the first read, and changed rows. If it rejects, it is called again by the next poll. */
  onChange(rows: readonly PolledRow<Column>[]): void | Promise<void>;
}

/** Polls small tables, so that every process has a change within 5 s. In an outage, the last rows stay in force. */
@Injectable()
export class PolledTables implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  /** The last rows of each table as JSON; `undefined` if its `onChange` has not accepted them. */
  private readonly known = new Map<PolledTable, string | undefined>();
  private readonly failing = new Set<PolledTable>();
  private isStopped = false;
  private timer?: NodeJS.Timeout;

  constructor(private readonly dataSource: DataSource) {}

  /** Reads the table now, and with every poll after the start of the application. */
  async watch<Column extends string>(table: PolledTable<Column>): Promise<void> {
    const rows = await readTable(committed(this.dataSource), table);
    const known = JSON.stringify(rows);
    if (known === this.known.get(table)) return;
    this.known.set(table, undefined);
    await table.onChange(rows);
    this.known.set(table, known);
  }

  /** Begins to poll only now, because a start that fails is not shut down. */
  onApplicationBootstrap(): void {
    this.schedule();
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (!this.isStopped) this.timer = setTimeout(() => void this.poll(), POLL_INTERVAL).unref();
  }

  private async poll(): Promise<void> {
    for (const table of this.known.keys()) {
      if (this.isStopped) return;
      try {
        await this.watch(table);
        this.failing.delete(table);
      } catch (error) {
        if (!this.failing.has(table)) {
          this.logger.warn(`Changes of ${table.name} cannot be read: ${reasonOf(error as Error)}`);
        }
        this.failing.add(table);
      }
    }
    this.schedule();
  }
}

export function readTable<Column extends string>(
  sql: Sql,
  { name, columns }: Pick<PolledTable<Column>, 'name' | 'columns'>,
): Promise<PolledRow<Column>[]> {
  const texts = columns.map((column) => `CAST(${column} AS text) AS ${column}`);
  return sql.query(`SELECT ${texts.join(', ')} FROM ${name} ORDER BY ${columns.join(', ')}`, []);
}
