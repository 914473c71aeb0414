/** Runs SQL as TypeORM's `EntityManager` does, without a query runner, and resolves to the rows. */
export interface Sql {
  /** Runs a template; its values are bound as parameters. */
  sql<Rows>(strings: TemplateStringsArray, ...values: unknown[]): Promise<Rows>;

  /**
   * Runs composed SQL with `?` for each parameter. Keep the number of variants small, because each is prepared and
   * cached.
   */
  query<Rows>(sql: string, parameters: unknown[]): Promise<Rows>;
}

/** One committed state of the database, unaffected by later writes, until it is closed. */
export interface Snapshot extends Sql {
  /** Releases the state. A second call does nothing. */
  close(): void;
}
