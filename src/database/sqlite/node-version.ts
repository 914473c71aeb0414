import { DatabaseStartError } from '../errors.js';

/**
 * On Node 24 better-sqlite3 12 ends the process (SIGABRT, "env != nullptr") when a statement or connection is collected as
 * garbage, at any moment. Its version 13 mends that, and needs Node 22.
 * @throws {DatabaseStartError} on such a version of Node
 */
export function requireSafeNode(version = process.versions.node): void {
  if (Number.parseInt(version, 10) < 24) return;
  throw new DatabaseStartError(
    `Node ${version} may end the process at any moment with better-sqlite3 12: run Node 20 or 22, or use PostgreSQL`,
  );
}
