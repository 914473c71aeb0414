import type { MigrationInterface, QueryRunner } from 'typeorm';

interface Column {
  readonly table_name: string;
  readonly column_name: string;
}

/**
 * Changes dates with a time to `timestamptz` on PostgreSQL. They were `timestamp`, in the local time of the process
 * that wrote them. The migration interprets them in its own time zone. If the service ran in another zone, set it:
 * `TZ=America/New_York npm run migration:run`.
 */
export class KeepInstants1790000110000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await this.change(queryRunner, 'timestamp without time zone', 'timestamptz');
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await this.change(queryRunner, 'timestamp with time zone', 'timestamp');
  }

  private async change(queryRunner: QueryRunner, from: string, to: string): Promise<void> {
    const { dataSource } = queryRunner;
    if (dataSource.options.type !== 'postgres') return;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const columns = (await queryRunner.query(
      `SELECT table_name, column_name FROM information_schema.columns
       WHERE table_schema = current_schema() AND data_type = $1 AND table_name = ANY($2)`,
      [from, dataSource.entityMetadatas.map(({ tableName }) => tableName)],
    )) as Column[];
    for (const { table_name: table, column_name: column } of columns) {
      await queryRunner.query(
        `ALTER TABLE "${table}" ALTER COLUMN "${column}" TYPE ${to} USING "${column}" AT TIME ZONE '${timeZone}'`,
      );
    }
  }
}
