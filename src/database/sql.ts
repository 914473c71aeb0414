/**
 * Runs SQL written as a template, its values bound as parameters: TypeORM's `manager.sql`, and the lean forms of
 * `transactions.ts`, which do the same without a query runner.
 */
export interface Sql {
  /** Resolves to the rows; to none for a statement that gives none. */
  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows>;
}
