import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A migration of a test. @param name ends with a timestamp; @param down default: a revert changes nothing */
export const migrationOf = (
  name: string,
  up: (runner: QueryRunner) => Promise<unknown>,
  down: (runner: QueryRunner) => Promise<unknown> = () => Promise.resolve(),
): MigrationInterface => ({ name, up, down });
