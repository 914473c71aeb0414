import { type ObjectLiteral, SelectQueryBuilder } from 'typeorm';

/**
 * TypeORM's own, to which a pessimistic lock is nothing to do: a transaction on SQLite is alone with all rows from its
 * beginning (`BEGIN IMMEDIATE`). Outside a transaction it is an error, as on PostgreSQL.
 */
export class LockFreeQueryBuilder<Entity extends ObjectLiteral> extends SelectQueryBuilder<Entity> {
  protected override createLockExpression(): string {
    return '';
  }
}
