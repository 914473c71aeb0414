import type { EntityMetadata } from 'typeorm';
import { DatabaseStartError } from '../errors.js';

/** The tables of the service; a test compares them with those of a migrated database. */
const OWN_TABLES = new Set([
  'audit',
  'audit_actors',
  'audit_chains',
  'idempotency_keys',
  'imports',
  'leases',
  'live_settings',
  'migrations',
  'rate_limits',
  'revoked_tokens',
  'storage',
]);

/**
 * Rejects entities of features with a table of the service: `migration:generate` would drop its columns.
 * @throws {DatabaseStartError}
 */
export function rejectOwnTables(entities: readonly EntityMetadata[]): void {
  for (const { name, tableName, tableMetadataArgs } of entities) {
    if (!OWN_TABLES.has(tableName) || name === 'StorageRow' || tableMetadataArgs.schema !== undefined) continue;
    const other = `@Entity('own_${tableName}')`;
    throw new DatabaseStartError(
      `"${tableName}" is a table of the service: give the entity ${name} another one, such as ${other}`,
    );
  }
}
