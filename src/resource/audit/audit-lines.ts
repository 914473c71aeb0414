import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { engineOf, type Sql } from '../../database/engine.js';
import type { AuditChain, AuditLine } from './audit.entity.js';

/** The properties that a hash covers, in the order of the hash, with the names of their columns. */
const CONTENT = {
  resource: 'resource',
  sequence: 'sequence',
  at: 'at',
  operation: 'operation',
  record: 'record',
  issuer: 'issuer',
  subject: 'subject',
  address: 'address',
  requestId: 'request_id',
  databaseUser: 'database_user',
  before: 'before',
  after: 'after',
} as const satisfies Partial<Record<keyof AuditLine, string>>;

type Content = Pick<AuditLine, keyof typeof CONTENT>;

const COLUMNS = Object.entries({ ...CONTENT, previous: 'previous', hash: 'hash' });
const SELECTED = COLUMNS.map(([property, column]) => `audit."${column}" AS "${property}"`).join(', ');

/** The quoted names of these columns, in the same order. */
export const CONTENT_COLUMNS = Object.values(CONTENT).map((column) => `"${column}"`);

/**
 * SHA-256 in hexadecimal digits of a JSON array: the hash of the previous line, then the content. The triggers on
 * PostgreSQL make the same text by `json_build_array`.
 */
export function hashOf(line: Content, previous: string): string {
  const values = [previous, ...Object.keys(CONTENT).map((property) => line[property as keyof Content])];
  const text = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
  return createHash('sha256').update(text).digest('hex');
}

export function chainsOf(source: Sql): Promise<AuditChain[]> {
  return source.query('SELECT resource, sequence, sealed, hash FROM audit_chains ORDER BY resource', []);
}

export function readLines(
  source: Sql,
  { resource, record, after = 0 }: { readonly resource: string; readonly record?: string; readonly after?: number },
  limit: number,
): Promise<AuditLine[]> {
  const ofRecord = record === undefined ? '' : 'AND record = ? ';
  return source.query(
    `SELECT ${SELECTED} FROM audit WHERE resource = ? ${ofRecord}AND sequence > ? ORDER BY sequence LIMIT ?`,
    [resource, ...(record === undefined ? [] : [record]), after, limit],
  );
}

const PAGE = 1000;

/** Reads all lines of a resource, page by page. */
export async function* allLines(source: Sql, resource: string): AsyncGenerator<AuditLine[]> {
  let after: number | undefined = 0;
  while (after !== undefined) {
    const page: AuditLine[] = await readLines(source, { resource, after }, PAGE);
    if (page.length > 0) yield page;
    after = page.length === PAGE ? page.at(-1)!.sequence : undefined;
  }
}

/** Maximum number of lines that one call of `seal` seals: more than the largest statement of an import writes. */
const MOST_SEALED = 10_000;

/**
 * Gives hashes to the lines without one, in order, because SQLite's triggers cannot. Lines of other writers are sealed
 * by the next write of the service or by `AuditUpkeep`.
 * @returns the number of sealed lines
 */
export async function seal(dataSource: DataSource, transaction: Sql, resource: string): Promise<number> {
  const { sealed, hash } = await lockChain(dataSource, transaction, resource);
  const lines = await readLines(transaction, { resource, after: sealed }, MOST_SEALED);
  if (lines.length === 0) return 0;
  let previous = hash;
  for (const line of lines) {
    const next = hashOf(line, previous);
    await transaction.query('UPDATE audit SET previous = ?, hash = ? WHERE resource = ? AND sequence = ?', [
      ...[previous, next],
      ...[resource, line.sequence],
    ]);
    previous = next;
  }
  await transaction.query('UPDATE audit_chains SET sealed = ?, hash = ? WHERE resource = ?', [
    lines.at(-1)!.sequence,
    previous,
    resource,
  ]);
  return lines.length;
}

/**
 * Locks the row of a resource in `audit_chains`.
 * @throws {Error} when it is missing
 */
export async function lockChain(dataSource: DataSource, transaction: Sql, resource: string): Promise<AuditChain> {
  const { dialect } = engineOf(dataSource);
  const [chain] = await transaction.query<AuditChain[]>(
    `SELECT resource, sequence, sealed, hash FROM audit_chains WHERE resource = ?${dialect.forUpdate('audit_chains')}`,
    [resource],
  );
  if (chain === undefined) throw new Error(`The table "audit_chains" has no row for ${resource}: restore a backup`);
  return chain;
}

/** A line as clients see it. */
export function publicLine(line: AuditLine) {
  return { ...line, before: parsed(line.before), after: parsed(line.after) };
}

/** A line that was added by hand may have a text that is no JSON. */
function parsed(json: string | null): unknown {
  try {
    return json === null ? null : (JSON.parse(json) as unknown);
  } catch {
    return json;
  }
}
