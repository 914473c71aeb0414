import { type ObjectLiteral, type QueryRunner, SelectQueryBuilder } from 'typeorm';

/**
 * Counts all rows in `findAndCount()`. With `select`, TypeORM counts the distinct values of the selected columns, as
 * `count()` should; on SQLite it leaves out the rows in which one of them is NULL.
 */
export class CountingQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  private countsRows = false;

  override async getManyAndCount(): Promise<[Entity[], number]> {
    this.countsRows = true;
    try {
      return await super.getManyAndCount();
    } finally {
      this.countsRows = false;
    }
  }

  protected override async executeCountQuery(queryRunner: QueryRunner): Promise<number> {
    const { findOptions } = this;
    if (this.countsRows) this.findOptions = { ...findOptions, select: undefined };
    try {
      return await super.executeCountQuery(queryRunner);
    } finally {
      this.findOptions = findOptions;
    }
  }
}
