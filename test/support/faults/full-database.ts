import type Database from 'better-sqlite3';
import { DataSource } from 'typeorm';
import type { Service } from '../service.js';

/** Limits the pages of the SQLite file, so that every write fails as on a full volume. */
export function leaveNoRoom({ app }: Service): void {
  const { databaseConnection } = app.get(DataSource).driver as unknown as { databaseConnection: Database.Database };
  databaseConnection.exec(`
    CREATE TABLE ballast (bytes);
    CREATE TRIGGER filling AFTER UPDATE ON storage BEGIN INSERT INTO ballast VALUES (zeroblob(10000000)); END`);
  const pages = databaseConnection.pragma('page_count', { simple: true }) as number;
  databaseConnection.pragma(`max_page_count = ${pages + 10}`);
}
