import type { DataSource, EntityMetadata } from 'typeorm';
import type { OpenApiDocument } from '../openapi-document.js';
import type { Id } from '../../../src/resource/id-kinds.js';
import { ContractSource, idOf } from './derived-contract.js';
import type { Body, DerivedContract } from './resource-contract.js';

/** Minimum number of possible values, more than the records of a test. */
const LEAST_VALUES = 3000;

/** Makes bodies with different values of their unique properties. */
export class UniqueBodies {
  private count = 0;
  private readonly source = new ContractSource(this.contract, this.document, this.dataSource.entityMetadatas);

  constructor(
    private readonly dataSource: DataSource,
    private readonly document: OpenApiDocument,
    private readonly contract: DerivedContract,
  ) {}

  /** The properties of each UNIQUE of a resource. */
  keysOf(path: string): string[][] {
    const { uniques, indices } = this.entityOf(path);
    return [...uniques, ...indices.filter(({ isUnique }) => isUnique)].map(({ columns }) =>
      columns.map(({ propertyName }) => propertyName),
    );
  }

  private entityOf(path: string): EntityMetadata {
    return this.dataSource.entityMetadatas.find(({ tableName }) => tableName === path.slice(1))!;
  }

  /** The body with new unique values; unchanged if it has no unique property. */
  next<B extends Body | undefined>(path: string, body: B): B {
    if (body === undefined) return body;
    const count = ++this.count;
    const { distinct: ofResource, examples } = this.contract;
    const given = path === this.contract.path ? ofResource : examples?.[path];
    const distinct = typeof given === 'function' ? given(count) : undefined;
    const unique = Object.entries(this.changes(path, Object.keys(distinct ?? {}))).map(
      ([name, value]) => [name, value(count)] as const,
    );
    const own = Object.entries({ ...Object.fromEntries(unique), ...distinct }).filter(([name]) => name in body);
    return own.length === 0 ? body : { ...body, ...Object.fromEntries(own) };
  }

  /**
   * For each key without a given property, a function from a number to a value of its property with the most values.
   */
  private changes(path: string, given: readonly string[]): Record<string, (count: number) => unknown> {
    const keys = this.keysOf(path).filter((key) => !key.some((name) => given.includes(name)));
    return Object.fromEntries(
      keys.map((key) => {
        const best = this.bestOf(path, key);
        if (best === undefined || best.size < LEAST_VALUES) {
          const names = `${path}: a unique ${key.join(', ')}`;
          throw new Error(`${names} has too few values for the ${LEAST_VALUES} of its tests; give them by distinct`);
        }
        return [best.name, best.value];
      }),
    );
  }

  /**
   * The property of a key with the most possible values. It may refer to a parent, which has enough records.
   */
  private bestOf(path: string, key: readonly string[]): (Values & { readonly name: string }) | undefined {
    const { properties } = this.document.resolve(this.document.bodySchema('post', path));
    const references = new Map(this.source.allReferences(path));
    const sizes = key
      .filter((name) => properties[name] !== undefined)
      .map((name) => {
        const parent = references.get(name);
        if (parent === undefined) return { name, ...valuesOf(this.document.resolve(properties[name])) };
        // Above all other ids, which tests use by themselves.
        const value = (count: number): Id => idOf(this.document, parent, 3 + (count % LEAST_VALUES));
        return { name, size: parent === path ? 0 : LEAST_VALUES, value };
      });
    return sizes.sort((one, other) => other.size - one.size)[0];
  }

  /** Number of records of a parent that the unique references of the resource and of its parents need. */
  leastOf(parent: string): number {
    const { path, parents } = this.contract;
    const isNeeded = [path, ...parents].some((each) => {
      const references = this.source.references(each);
      return this.keysOf(each).some((key) => references[this.bestOf(each, key)?.name ?? ''] === parent);
    });
    return isNeeded ? LEAST_VALUES + 2 : 2;
  }
}

interface Values {
  readonly size: number;
  readonly value: (count: number) => unknown;
}

/** The value of a schema for each number. */
function valuesOf(schema: any): Values {
  const { type, format, minimum = 0, maximum = Number.MAX_SAFE_INTEGER, minLength = 0, maxLength = 0 } = schema;
  if (schema.enum !== undefined || type === 'boolean') return { size: 0, value: () => undefined };
  if (type !== 'string') return { size: maximum - minimum, value: (count) => minimum + (count % (maximum - minimum)) };
  const start = Date.UTC(2030, 0, 1);
  switch (format) {
    case 'uuid':
      return { size: 2 ** 48, value: (count) => `02000000-0000-7000-8000-${count.toString(16).padStart(12, '0')}` };
    case 'date-time':
      return { size: 2 ** 48, value: (count) => new Date(start + count * 60_000).toISOString() };
    case 'date':
      return { size: 100_000, value: (count) => new Date(start + count * 86_400_000).toISOString().slice(0, 10) };
    case 'decimal': {
      const scale = schema.example.split('.')[1]?.length ?? 0;
      const least = Math.max(10, schema['x-minimum'] ?? 0);
      return { size: 10_000, value: (count) => (least + count * 10 ** -scale).toFixed(scale) };
    }
    default:
      return { size: 36 ** maxLength, value: (count) => count.toString(36).padStart(Math.max(minLength, 1), '0') };
  }
}
