import type { EntityMetadata, FindOptionsWhere, Repository } from 'typeorm';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import type { OpenStorage } from '../resources/open-storage.js';
import type { Entry, LineProblem } from './import-input.js';

/** Maximum number of conditions of one statement. */
const CHUNK = 200;

/** Finds lines with a unique value that another line or a stored record has. */
export class UniqueValues {
  private readonly repository: Repository<AnyResourceEntity>;
  private readonly keys: readonly (readonly string[])[];
  /** Line numbers by key. */
  private readonly seen = new Map<string, number>();

  constructor({ repository }: OpenStorage) {
    this.repository = repository;
    this.keys = uniqueKeys(repository.metadata);
  }

  /** @param entries lines that this method has not seen before */
  async problemsOf(entries: readonly Entry[]): Promise<LineProblem[]> {
    const problems: LineProblem[] = [];
    for (const key of this.keys) {
      const stored = await this.stored(key, entries);
      for (const { number: line, record } of entries) {
        const value = keyOf(key, record);
        if (value === undefined) continue;
        const before = this.seen.get(value);
        if (before === undefined) this.seen.set(value, line);
        const holder = stored.get(value) ?? (before === undefined ? undefined : `line ${before}`);
        if (holder !== undefined) {
          problems.push({ line, problem: `${quoted(key)} must be unique, and ${holder} has the same value` });
        }
      }
    }
    return problems;
  }

  /** Ids of stored records by key. */
  private async stored(key: readonly string[], entries: readonly Entry[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const conditions = entries.map(({ record }) => valuesOf(key, record)).filter((values) => values !== undefined);
    for (let start = 0; start < conditions.length; start += CHUNK) {
      const where = conditions.slice(start, start + CHUNK) as FindOptionsWhere<AnyResourceEntity>[];
      for (const record of await this.repository.find({ where })) {
        found.set(keyOf(key, record)!, `the stored record ${record.id}`);
      }
    }
    return found;
  }
}

/** The properties of every unique constraint or index except the primary key. */
function uniqueKeys({ uniques, indices }: EntityMetadata): string[][] {
  const columns = [...uniques, ...indices.filter(({ isUnique }) => isUnique)].map((each) => each.columns);
  const names = columns.map((each) => each.map(({ propertyName }) => propertyName));
  return [...new Map(names.map((each) => [each.join(), each])).values()];
}

/** The values of a key; `undefined` when one is null, because null is never equal. */
function valuesOf(key: readonly string[], record: object): Record<string, unknown> | undefined {
  const values = key.map((name) => (record as Record<string, unknown>)[name]);
  if (values.some((value) => value === null || value === undefined)) return undefined;
  return Object.fromEntries(key.map((name, index) => [name, values[index]]));
}

function keyOf(key: readonly string[], record: object): string | undefined {
  const values = valuesOf(key, record);
  return values === undefined ? undefined : JSON.stringify(values);
}

const quoted = (key: readonly string[]): string => key.map((name) => `"${name}"`).join(' with ');
