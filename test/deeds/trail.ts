import { createHash } from 'node:crypto';
import type { DataSource, EntityTarget } from 'typeorm';
import type { AuditLineDto } from '../../src/resource/audit/audit.dto.js';
import type { Id } from '../../src/resource/id-kinds.js';
import type { AnyResourceEntity, PublicRecord } from '../../src/resource/resource-entity.js';
import { follow } from '../support/resource/pages.js';
import type { Client } from '../support/service.js';

type Values = Record<string, unknown> | null;

export type Line = Omit<AuditLineDto, 'before' | 'after'> & { readonly before: Values; readonly after: Values };

export async function allLines(client: Client, resource: string): Promise<Line[]> {
  const pages = await follow(client, `/audit?resource=${resource}&limit=200`);
  return pages.flatMap(({ body }) => body as Line[]);
}

/** Expects every line to have the hash of the previous line, computed here by other code. */
export function expectChain(lines: readonly Line[]): void {
  let previous = lines[0]?.previous ?? '';
  let sequence = lines[0]?.sequence ?? 1;
  for (const line of lines) {
    expect(line.sequence).toBe(sequence++);
    expect(line.previous).toBe(previous);
    const { resource, at, operation, record, issuer, subject, address, requestId, databaseUser, before, after } = line;
    const json = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));
    const who = [issuer, subject, address, requestId, databaseUser];
    const values = [previous, resource, line.sequence, at, operation, record, ...who, json(before), json(after)];
    const text = `[${values.map((value) => JSON.stringify(value)).join(', ')}]`;
    expect(line.hash).toBe(createHash('sha256').update(text).digest('hex'));
    previous = line.hash!;
  }
}

/** Expects the records to be those that result from the lines. */
export function expectAgreement(records: readonly { readonly id: Id }[], lines: readonly Line[]): void {
  const made = new Map<string, unknown>();
  for (const { operation, record, before, after } of lines) {
    if (operation === 'prune') continue;
    expect(before).toEqual(made.get(record) ?? null);
    if (after === null) made.delete(record);
    else made.set(record, after);
  }
  expect(Object.fromEntries(made)).toEqual(Object.fromEntries(records.map((record) => [record.id, record])));
}

/** The records of an entity, as a GET returns them. */
export async function recordsOf(
  source: DataSource,
  entity: EntityTarget<AnyResourceEntity>,
): Promise<PublicRecord<AnyResourceEntity>[]> {
  const rows = await source.getRepository(entity).find();
  return rows.map(({ revision: _, ...record }) => JSON.parse(JSON.stringify(record)) as { id: Id });
}
