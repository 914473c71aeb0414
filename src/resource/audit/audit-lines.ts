import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { engineOf, type Sql } from '../../database/engine.js';
import type { AuditLineDto } from './audit.dto.js';

/** One change of a record, written by a trigger in its transaction. A `prune` line names lines that were deleted. */
export interface AuditLine extends Omit<AuditLineDto, 'before' | 'after'> {
  /** The record as JSON, as a GET returns it. */
  readonly before: string | null;
  readonly after: string | null;
}

/** The last line of a resource: the end of its chain of hashes. */
export interface AuditChain {
  readonly resource: string;
  readonly sequence: number;
  /** Sequence of the last line that has a hash. */
  readonly sealed: number;
  /** Hash of the last line that has a hash; empty if there is none. */
  readonly hash: string;
}

/** The properties that a hash covers, in the order of the hash. */
const CONTENT = [
  'resource',
  'sequence',
  'at',
  'operation',
  'record',
  'issuer',
  'subject',
  'address',
  'requestId',
  'databaseUser',
  'before',
  'after',
] as const;

type Content = Pick<AuditLine, (typeof CONTENT)[number]>;

/** The quoted column of a property: `"request_id"` of `requestId`. */
const columnOf = (property: string): string => `"${property.replace(/[A-Z]/, '_$&').toLowerCase()}"`;

const SELECTED = [...CONTENT, 'previous', 'hash'].map((name) => `audit.${columnOf(name)} AS "${name}"`).join(', ');

export const CONTENT_COLUMNS = CONTENT.map(columnOf);

/** SHA-256 in hexadecimal digits of a JSON array: the previous hash, then the content, as in the triggers. */
export function hashOf(line: Content, previous: string): string {
  const values = [previous, ...CONTENT.map((property) => line[property])];
  const text = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
  return createHash('sha256').update(text).digest('hex');
}

export function chainsOf(source: Sql): Promise<AuditChain[]> {
  return source.sql`SELECT resource, sequence, sealed, hash FROM audit_chains ORDER BY resource`;
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

export async function* allLines(source: Sql, resource: string): AsyncGenerator<AuditLine[]> {
  let page: AuditLine[] = [];
  do {
    page = await readLines(source, { resource, after: page.at(-1)?.sequence }, PAGE);
    if (page.length > 0) yield page;
  } while (page.length === PAGE);
}

/** Maximum number of lines that one call of `seal` seals: more than the largest statement of an import writes. */
const MOST_SEALED = 10_000;

/** Gives hashes to the lines without one, also of other writers: SQLite's triggers cannot. Returns their number. */
export async function seal(
  dataSource: DataSource,
  transaction: Sql,
  resource: string,
  most = MOST_SEALED,
): Promise<number> {
  const { sealed, hash } = await lockChain(dataSource, transaction, resource);
  const lines = await readLines(transaction, { resource, after: sealed }, most);
  if (lines.length === 0) return 0;
  let previous = hash;
  for (const line of lines) {
    const next = hashOf(line, previous);
    await transaction.sql`UPDATE audit SET previous = ${previous}, hash = ${next}
      WHERE resource = ${resource} AND sequence = ${line.sequence}`;
    previous = next;
  }
  await transaction.sql`UPDATE audit_chains SET sealed = ${lines.at(-1)!.sequence}, hash = ${previous}
    WHERE resource = ${resource}`;
  return lines.length;
}

/** @throws {Error} when the resource has no row in `audit_chains` */
export async function lockChain(dataSource: DataSource, transaction: Sql, resource: string): Promise<AuditChain> {
  const { dialect } = engineOf(dataSource);
  const [chain] = await transaction.query<AuditChain[]>(
    `SELECT resource, sequence, sealed, hash FROM audit_chains WHERE resource = ?${dialect.forUpdate('audit_chains')}`,
    [resource],
  );
  if (chain === undefined) throw new Error(`The table "audit_chains" has no row for ${resource}: restore a backup`);
  return chain;
}

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
