import { loadConfigFromProcess } from '../config/config.js';
import type { DataSource } from 'typeorm';
import { openSnapshot, type Snapshot, type Sql } from '../database/engine.js';
import { RESOURCES, SETTINGS } from '../features.js';
import {
  allLines,
  type AuditChain,
  type AuditLine,
  chainsOf,
  hashOf,
  publicLine,
} from '../resource/audit/audit-lines.js';
import { hasAuditTriggers } from '../resource/audit/audit-triggers.js';
import { Failure, UsageError } from './command-errors.js';
import { LineSummary, writeLines } from './output/write-lines.js';
import { openConfiguredDatabase } from './resources/open-storage.js';

export async function exportAudit(
  resource: string | undefined,
  output: string | undefined,
  interrupt: () => AbortSignal,
): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  await using dataSource = await openConfiguredDatabase(config);
  using snapshot = await openSnapshot(dataSource);
  const known = (await chainsOf(snapshot)).map((chain) => chain.resource);
  if (resource !== undefined && !known.includes(resource)) {
    throw new UsageError(`There is no audit trail of ${resource}; there are: ${known.join(', ') || 'none'}`);
  }
  const summary = new LineSummary();
  const lines = linesOf(snapshot, resource === undefined ? known : [resource], summary);
  if (!(await writeLines(config, output, lines, interrupt()))) return;
  console.error(`Exported ${summary.count} lines, sha256 ${summary.digest()}`);
}

async function* linesOf(
  snapshot: Snapshot,
  resources: readonly string[],
  summary: LineSummary,
): AsyncGenerator<string> {
  for (const resource of resources) {
    for await (const page of allLines(snapshot, resource)) yield summary.add(page.map(publicLine));
  }
}

/** Checks one snapshot of the audit trail. A `Failure` has the first wrong line of each resource. */
export async function verifyAudit(): Promise<void> {
  const config = loadConfigFromProcess(SETTINGS);
  await using dataSource = await openConfiguredDatabase(config);
  using snapshot = await openSnapshot(dataSource);
  const chains = await chainsOf(snapshot);
  const problems = (await lostChains(snapshot, dataSource)).map((name) => `${name}: it has no row in audit_chains`);
  if (chains.length + problems.length === 0) console.log('No resource is audited.');
  for (const chain of chains) {
    const problem = await verifyChain(snapshot, chain);
    if (problem !== undefined) problems.push(`${chain.resource}: ${problem}`);
  }
  if (problems.length > 0) throw new Failure(`The audit trail is not as it was written. ${problems.join('; ')}.`);
}

/** The resources that have lines or audit triggers, and no row in `audit_chains`, without which nothing is verified. */
export async function lostChains(sql: Sql, dataSource: DataSource): Promise<string[]> {
  const known = new Set((await chainsOf(sql)).map(({ resource }) => resource));
  const lines = await sql.sql<{ resource: string }[]>`SELECT DISTINCT resource FROM audit ORDER BY resource`;
  const names = new Set(lines.map(({ resource }) => resource));
  for (const { name, audited = false } of RESOURCES) {
    if (audited && (await hasAuditTriggers(sql, dataSource, name.plural, true))) names.add(name.plural);
  }
  return [...names].filter((name) => !known.has(name));
}

/** @returns the problem of the first wrong line */
async function verifyChain(snapshot: Snapshot, chain: AuditChain): Promise<string | undefined> {
  let first = 0;
  let last = 0;
  let sealed = 0;
  let hash: string | undefined;
  // The largest sequence that a `prune` line names.
  let pruned = 0;
  for await (const page of allLines(snapshot, chain.resource)) {
    for (const line of page) {
      const { sequence, previous } = line;
      if (first === 0) first = sequence;
      else if (sequence !== last + 1) return missing(last + 1, sequence - 1);
      last = sequence;
      if (line.operation === 'prune') pruned = Math.max(pruned, throughOf(line));
      if (line.hash === null) continue;
      if (sequence !== first && sealed !== sequence - 1) return `line ${Math.max(sealed + 1, first)} has lost its hash`;
      if (line.hash !== hashOf(line, previous ?? '')) return `line ${sequence} was changed: its hash does not match`;
      // For the first stored line, the previous line has been pruned.
      if (previous !== (sequence === 1 ? '' : (hash ?? previous))) {
        return `line ${sequence} does not follow line ${sequence - 1}: one of them was replaced`;
      }
      sealed = sequence;
      hash = line.hash;
    }
  }
  if (first > pruned + 1) return missing(pruned + 1, first - 1);
  if (last < chain.sequence) return missing(last + 1, chain.sequence);
  if (last > chain.sequence) return `line ${chain.sequence + 1} was added`;
  if (sealed !== chain.sealed || (hash ?? '') !== chain.hash) {
    return `line ${chain.sealed} is not the last line that was written`;
  }
  const unsealed = last === sealed ? '' : `; the last ${last - sealed} have no hash yet`;
  const all = `${last - first + 1} lines from ${first} to ${last}${unsealed}, last hash ${hash ?? ''}`;
  console.log(`${chain.resource}: ${last === 0 ? 'no lines' : all}`);
  return undefined;
}

const missing = (from: number, to: number): string =>
  from === to ? `line ${from} is missing` : `lines ${from} to ${to} are missing`;

function throughOf({ sequence, after }: AuditLine): number {
  const through = Number(/^\{"through":(\d+)\}$/.exec(after ?? '')?.[1] ?? 0);
  return through < sequence ? through : 0;
}
