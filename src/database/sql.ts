/**
 * Runs SQL as TypeORM's `EntityManager` does, and resolves to its rows, to none for a statement that gives none. The lean
 * forms of `transactions.ts` and `snapshot.ts` do the same without a query runner.
 */
export interface Sql {
  /** A template whose values are bound as parameters. */
  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows>;

  /** SQL that is put together, with `?` for each parameter. Its variants should be few: each is prepared once. */
  query<Rows>(sql: string, parameters: unknown[]): Promise<Rows>;
}

/** One committed state of the database, unchanged by whatever is written meanwhile, until it is closed. */
export interface Snapshot extends Sql {
  /** Lets go of the state; a second call does nothing. */
  close(): void;
}
