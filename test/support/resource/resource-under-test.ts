import { DataSource } from 'typeorm';
import { Config } from '../../../src/config/config.js';
import type { Id } from '../../../src/resource/id-kinds.js';
import { OpenApiDocument } from '../openapi-document.js';
import { Client, type RequestOptions, type Service, startService } from '../service.js';
import { CheckedClient, expectStatus, type ResourceResponse } from './checked-client.js';
import { ContractSource, hasUuids, idOf } from './derived-contract.js';
import type { Body, DerivedContract } from './resource-contract.js';
import { variedValues } from './ranges.js';
import { UniqueBodies } from './unique-bodies.js';

/** A number that no parent has; see `idOf`. */
export const MISSING = 999_999;

interface Created {
  readonly id: Id;
  readonly path: string;
  readonly etag: string;
  readonly record: Body;
}

/** A resource, and a service for its tests. The clients compare each response with the OpenAPI document. */
export class ResourceUnderTest {
  service!: Service;
  document!: OpenApiDocument;
  /** A client with both scopes. */
  client!: CheckedClient;
  /** A client with the scope to read only. */
  reader!: CheckedClient;
  /** A client with the scope to write only. */
  writer!: CheckedClient;
  /** A client without a token. */
  stranger!: CheckedClient;
  private unique!: UniqueBodies;
  private requiresIfMatch = false;

  constructor(readonly contract: DerivedContract) {}

  get path(): string {
    return this.contract.path;
  }

  /** The name of its table, its `storage` row and its scopes. */
  get name(): string {
    return this.path.slice(1);
  }

  /** The path of a record that is never stored. */
  get nowhere(): string {
    return `${this.path}/${this.greatestId}`;
  }

  get greatestId(): Id {
    return hasUuids(this.document, this.path) ? 'ffffffff-ffff-7fff-bfff-ffffffffffff' : Number.MAX_SAFE_INTEGER;
  }

  /** The id of a parent by its number; a UUID ends with the number. */
  idOf(path: string, number: number): Id {
    return idOf(this.document, path, number);
  }

  /** The error code of its 404, as documented. */
  get notFoundCode(): string {
    const { content } = this.document.operation('get', `${this.path}/{id}`).responses[404];
    return Object.values<any>(content['application/json'].examples)[0].value.errorCode;
  }

  async start(): Promise<void> {
    const { modules = [], migrations = [], parents } = this.contract;
    // A failed test shows the body of a 500, so the log would only repeat it.
    this.service = await startService({ LOG_LEVEL: 'silent' }, [...modules], migrations, (module, config) =>
      module.overrideProvider(Config).useValue(this.settingsOver(config)),
    );
    this.document = await OpenApiDocument.of(this.service);
    this.unique = new UniqueBodies(this.dataSource, this.document, this.contract);
    const names = [...parents.map((parent) => parent.slice(1)), this.name];
    const all = names.flatMap((name) => [`${name}:read`, `${name}:write`]).join(' ');
    this.client = this.clientWith(all);
    this.reader = this.clientWith(`${this.name}:read`);
    this.writer = this.clientWith(`${this.name}:write`);
    this.stranger = new CheckedClient(Client.bearing(this.service), this.document, this.path);
    for (const parent of parents) await this.fillParent(parent);
  }

  clientWith(scope: string): CheckedClient {
    return new CheckedClient(Client.of(this.service, { scope }), this.document, this.path);
  }

  /** Makes two records, so that a reference can change, or as many as a unique reference needs. */
  private async fillParent(path: string): Promise<void> {
    for (const number of [1, 2]) {
      const made = await this.client.request('POST', path, { body: this.exampleOf(path) });
      expectStatus(made, 201);
      if (!hasUuids(this.document, path)) continue;
      const name = path.slice(1);
      const id = this.idOf(path, number);
      await this.dataSource.query(`UPDATE "${name}" SET id = '${id}' WHERE id = '${made.body.id}'`);
    }
    await this.fillTo(this.unique.leastOf(path), [], path);
  }

  /** A body of POST for another resource. */
  exampleOf(path: string): Body {
    const source = new ContractSource(this.contract, this.document, this.dataSource.entityMetadatas);
    return this.unique.next(path, source.body('post', path, 0));
  }

  /** The body with new values for its unique properties. */
  next<B extends Body | undefined>(body: B): B {
    return this.unique.next(this.path, body);
  }

  /** The properties of each UNIQUE. */
  get keys(): string[][] {
    return this.unique.keysOf(this.path);
  }

  /** The properties of a record that the service sets and clients do not. */
  ofService(record: Body): Body {
    const { properties } = this.document.resolve(this.document.bodySchema('post', this.path));
    return Object.fromEntries(Object.entries(record).filter(([name]) => name !== 'id' && !(name in properties)));
  }

  private get recordSchema(): any {
    return this.document.operation('get', `${this.path}/{id}`).responses[200].content['application/json'].schema;
  }

  /** Tells whether the GET needs no token. @param path of the list or of a record */
  isPublic(path: string): boolean {
    const template = path.split('?')[0] === this.path ? this.path : `${this.path}/{id}`;
    return this.contract.publicReads.includes(template);
  }

  post(body: unknown = this.next(this.contract.create), headers?: Record<string, string>): Promise<ResourceResponse> {
    return this.client.request('POST', this.path, { body, headers });
  }

  /** Stores a record. */
  async create(changes: Body = {}): Promise<Created> {
    const response = await this.post({ ...this.next(this.contract.create), ...changes });
    expectStatus(response, 201);
    const { headers, body } = response;
    return { id: body.id, path: headers.get('location')!, etag: headers.get('etag')!, record: body };
  }

  get(path: string, headers?: Record<string, string>): Promise<ResourceResponse> {
    return this.client.request('GET', path, { headers });
  }

  async etagOf(path: string): Promise<string> {
    const response = await this.get(path);
    expectStatus(response, 200);
    return response.headers.get('etag')!;
  }

  request(method: string, path: string, options?: RequestOptions): Promise<ResourceResponse> {
    return this.client.request(method, path, options);
  }

  /** Expects that `work` changes nothing, by the ETag of the list, which every write changes. */
  async unchanged<T>(work: () => Promise<T>): Promise<T> {
    const version = async (): Promise<string | null> =>
      (await this.get(this.path, { 'if-none-match': '*' })).headers.get('etag');
    const before = await version();
    const result = await work();
    if ((await version()) !== before) throw new Error('The request was rejected, and has changed what is stored');
    return result;
  }

  /** Deletes all records, which is faster than a new service for each test. */
  async empty(): Promise<void> {
    await this.dataSource.query(`DELETE FROM "${this.name}"`);
  }

  /**
   * Stores copies of the existing records until there are `count`.
   * @param varied properties that differ in each copy; clients need not be able to set them
   * @param path of the resource, or of a parent
   */
  async fillTo(count: number, varied: readonly string[] = [], path = this.path): Promise<void> {
    const name = path.slice(1);
    const repository = this.dataSource.getRepository<Record<string, unknown>>(
      this.dataSource.entityMetadatas.find(({ tableName }) => tableName === name)!.target,
    );
    const originals = await repository.find({ order: { id: 'ASC' } });
    const { properties } = this.document.resolve(this.recordSchema);
    const resolve = (schema: any): any => this.document.resolve(schema);
    const turns = Object.fromEntries(varied.map((name) => [name, variedValues(properties[name], resolve)]));
    const copies = Array.from({ length: count - originals.length }, (_, index) => {
      const { id: _id, revision: _revision, ...values } = originals[index % originals.length]!;
      const various = Object.entries(turns).map(([name, each]) => [name, each[index % each.length]]);
      const next = this.unique.next(path, { ...values, ...Object.fromEntries(various) });
      const asStored = (property: string, value: unknown): unknown =>
        values[property] instanceof Date && value !== null ? new Date(value as string) : value;
      const copy = Object.entries(next).map(([property, value]) => [property, asStored(property, value)]);
      const id = path !== this.path && hasUuids(this.document, path) && this.idOf(path, originals.length + index + 1);
      return Object.fromEntries(typeof id === 'boolean' ? copy : [['id', id], ...copy]) as Body;
    });
    const insert = async (): Promise<void> => {
      for (let at = 0; at < copies.length; at += 200) await repository.insert(copies.slice(at, at + 200));
    };
    await this.withCapacity(Math.max(count, originals.length), insert, name);
  }

  /** Sets the capacity while `work` runs. */
  async withCapacity<T>(capacity: number, work: () => Promise<T>, name = this.name): Promise<T> {
    const before = await this.setCapacity(capacity, name);
    return work().finally(() => this.setCapacity(before, name));
  }

  /** Sets the capacity, and returns the one before. */
  async setCapacity(capacity: number, name = this.name): Promise<number> {
    const [before] = await this.dataSource.query(`SELECT capacity FROM storage WHERE resource = '${name}'`);
    await this.dataSource.query(`UPDATE storage SET capacity = ${capacity} WHERE resource = '${name}'`);
    return Number(before.capacity);
  }

  /** Stores one record before the tests of a block, and lets no other be stored; the last test expects no change. */
  describeUnchanged(title: string, tests: (record: () => string) => void): void {
    describe(title, () => {
      let record: string;
      let before: ResourceResponse;
      let capacity: number | undefined;

      beforeAll(async () => {
        await this.empty();
        record = (await this.create()).path;
        before = await this.get(this.path);
        // An error other than 507 then proves that its check comes before the capacity.
        capacity = await this.setCapacity(1);
      });

      // Without it, `beforeAll` has failed.
      afterAll(() => (capacity === undefined ? undefined : this.setCapacity(capacity)));

      tests(() => record);

      it('that is rejected changes no record', async () => {
        const after = await this.get(this.path);
        expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
      });
    });
  }

  /** Sets `REQUIRE_IF_MATCH=true` while `work` runs. */
  async requiringIfMatch<T>(work: () => Promise<T>): Promise<T> {
    this.requiresIfMatch = true;
    return work().finally(() => (this.requiresIfMatch = false));
  }

  /** The settings of the service; tests can change one of them while it runs. */
  private settingsOver(config: Config): Config {
    return Object.create(config, { requireIfMatch: { get: () => this.requiresIfMatch } }) as Config;
  }

  get dataSource(): DataSource {
    return this.service.app.get(DataSource, { strict: false });
  }
}
