import { DataSource, type EntityMetadata } from 'typeorm';
import type { Id } from '../../../src/resource/id-kinds.js';
import { OpenApiDocument } from '../openapi-document.js';
import { startService } from '../service.js';
import { ofValue, validValues, type WrongValue, wrongValues } from './property-values.js';
import type { Body, DerivedContract, RangeParameters, ResourceContract } from './resource-contract.js';

/** Derives the missing parts of a contract from the document and the entities of a service. */
export async function derivedContract(contract: ResourceContract): Promise<DerivedContract> {
  const { modules = [], migrations = [] } = contract;
  await using service = await startService({ LOG_LEVEL: 'silent' }, [...modules], migrations);
  const document = await OpenApiDocument.of(service);
  const { entityMetadatas } = service.app.get(DataSource, { strict: false });
  return new ContractSource(contract, document, entityMetadatas).contract();
}

/** Invalid ids, such as UUIDs that are not in lower case. */
const WRONG_IDS = ['x', '', '0', '01999999-0000-7000-8000-00000000000A', '{01999999-0000-7000-8000-000000000001}'];

export function hasUuids(document: OpenApiDocument, path: string): boolean {
  const { parameters } = document.operation('get', `${path}/{id}`);
  return parameters.some((each: any) => each.in === 'path' && each.schema.format === 'uuid');
}

/** The id of a parent by its number; a UUID ends with the number. */
export function idOf(document: OpenApiDocument, path: string, number: number): Id {
  return hasUuids(document, path) ? `01999999-0000-7000-8000-${String(number).padStart(12, '0')}` : number;
}

type Properties = Readonly<Record<string, any>>;

/** The bodies, references and parameters of resources, as document and entities describe them. */
export class ContractSource {
  private readonly resolve = (schema: any): any => this.document.resolve(schema);

  constructor(
    private readonly given: ResourceContract,
    private readonly document: OpenApiDocument,
    private readonly entities: readonly EntityMetadata[],
  ) {}

  contract(): DerivedContract {
    const { given } = this;
    const { path, invalid = {} } = given;
    const create = { ...this.body('post', path, 0), ...given.create };
    const replace = { ...this.body('put', `${path}/{id}`, 1), ...given.replace };
    const wrong = Object.entries(this.properties('post', path))
      .filter(([name]) => !this.referring(path).includes(name))
      .flatMap(([name, schema]) => wrongValues(name, schema, this.resolve));
    return {
      ...given,
      ...{ create, replace, patch: this.patch(replace) },
      wrong: [...wrong, ...this.wrongReferences(), ...wrongByHand(invalid)],
      filters: this.filters(create, replace),
      ranges: this.ranges(create),
      references: this.references(path),
      ownReferences: this.ownReferences(path),
      parents: this.parents(path),
      publicReads: [path, `${path}/{id}`].filter((each) => this.isPublic(each)),
    };
  }

  /** A valid body. @param index of one of the two values of each property */
  body(method: string, path: string, index: 0 | 1): Body {
    const collection = path.replace('/{id}', '');
    const references = this.references(collection);
    const own = this.ownReferences(collection);
    const values = Object.entries(this.properties(method, path)).map(([name, schema]) => {
      if (own.includes(name)) return [name, null] as const;
      const parent = references[name];
      const value =
        parent === undefined ? validValues(schema, this.resolve)[index] : idOf(this.document, parent, index + 1);
      return [name, value === undefined ? this.byHand(collection, name, index) : value] as const;
    });
    return { ...Object.fromEntries(values), ...(index === 0 && this.given.examples?.[collection]) };
  }

  private byHand(path: string, name: string, index: 0 | 1): unknown {
    const { given } = this;
    if (path !== given.path) return undefined;
    const option = index === 0 ? 'create' : 'replace';
    const value = given[option]?.[name];
    if (value !== undefined) return value;
    throw new Error(`describeResource cannot tell a value of ${name} from its schema: add ${option}: { ${name}: ... }`);
  }

  /** Up to two properties that PATCH changes, preferably neither unique nor in a rule. */
  private patch(replace: Body): Body {
    const { path } = this.given;
    const unique = this.entityOf(path).indices.flatMap(({ isUnique, columns }) =>
      isUnique ? columns.map(({ propertyName }) => propertyName) : [],
    );
    const bound = new Set([...unique, ...(this.given.ruled ?? [])]);
    const properties = Object.keys(this.properties('patch', `${path}/{id}`));
    const names = properties.filter((name) => name in replace && replace[name] !== null);
    const [first, second] = [...names].sort((one, other) => Number(bound.has(one)) - Number(bound.has(other)));
    return Object.fromEntries(
      [first!, ...(second === undefined || bound.has(second) ? [] : [second])].map((name) => [name, replace[name]]),
    );
  }

  private wrongReferences(): WrongValue[] {
    const { path } = this.given;
    const properties = this.properties('post', path);
    return this.referring(path).flatMap((name) => {
      const isNumber = ofValue(properties[name], this.resolve).type === 'integer';
      const values = isNumber ? [0, -1, 1.5, '1', '1e3', 2 ** 53, true, ''] : [...WRONG_IDS, 1, true];
      return values.map((value) => ({ pointer: `/${name}`, value }));
    });
  }

  /** Paths by property, without references to the resource itself, because there is no first record. */
  references(path: string): Record<string, string> {
    return Object.fromEntries(this.allReferences(path).filter(([, parent]) => parent !== path));
  }

  private ownReferences(path: string): string[] {
    return this.allReferences(path).flatMap(([name, parent]) => (parent === path ? [name] : []));
  }

  private referring(path: string): string[] {
    return this.allReferences(path).map(([name]) => name);
  }

  /** Paths by property, with references to the resource itself. */
  allReferences(path: string): (readonly [name: string, parent: string])[] {
    const properties = this.properties('post', path);
    return this.entityOf(path)
      .foreignKeys.map(({ columns: [column], referencedEntityMetadata: { tableName } }) => {
        return [column!.propertyName, `/${tableName}`] as const;
      })
      .filter(([name]) => name in properties);
  }

  private parents(path: string, below: readonly string[] = []): string[] {
    const parents = Object.values(this.references(path)).filter((parent) => !below.includes(parent));
    return [...new Set(parents.flatMap((parent) => [...this.parents(parent, [...below, path]), parent]))];
  }

  private isPublic(path: string): boolean {
    const security: object[] = this.document.operation('get', path).security ?? [];
    return security.some((each) => Object.keys(each).length === 0);
  }

  private get parameters(): { name: string; schema: any }[] {
    const { parameters } = this.document.operation('get', this.given.path);
    return parameters.filter((each: any) => each.in === 'query');
  }

  /** Parameters that select records by one or several values, without those for properties that the service sets. */
  private filters(create: Body, replace: Body): Record<string, readonly [unknown, unknown]> {
    const filters = this.arrays.filter((name) => name in create && create[name] !== null);
    return Object.fromEntries(filters.map((name) => [name, [create[name], replace[name]]]));
  }

  private get arrays(): string[] {
    return this.parameters.filter(({ schema }) => schema.type === 'array').map(({ name }) => name);
  }

  private ranges(create: Body): RangeParameters {
    const record = ofValue(this.recordSchema, this.resolve).properties;
    const bounds = this.parameters.flatMap(({ name, schema }) => {
      const [, property = '', end] = /^(.+)(From|To)$/.exec(name) ?? [];
      return property in record ? [{ name, property, isStart: end === 'From', schema: this.resolve(schema) }] : [];
    });
    const { enum: sorts = [] } = this.resolve(this.parameters.find(({ name }) => name === 'sort')!.schema);
    const kindOf = (name: string): string => {
      const { type, format } = ofValue(record[name], this.resolve);
      return type === 'string' ? format : type;
    };
    const sorted = sorts.filter((sort: string) => !/^-|^id$/.test(sort));
    const filters = this.arrays.filter((name) => name in record && !(name in create));
    return { bounds, filters, sorts: Object.fromEntries(sorted.map((name: string) => [name, kindOf(name)])) };
  }

  private get recordSchema(): any {
    return this.document.operation('get', `${this.given.path}/{id}`).responses[200].content['application/json'].schema;
  }

  private properties(method: string, path: string): Properties {
    return this.resolve(this.document.bodySchema(method, path)).properties;
  }

  private entityOf(path: string): EntityMetadata {
    return this.entities.find(({ tableName }) => tableName === path.slice(1))!;
  }
}

const wrongByHand = (invalid: Readonly<Record<string, readonly unknown[]>>): WrongValue[] =>
  Object.entries(invalid).flatMap(([name, values]) => values.map((value) => ({ pointer: `/${name}`, value })));
