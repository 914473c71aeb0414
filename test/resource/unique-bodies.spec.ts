import type { DataSource } from 'typeorm';
import type { OpenApiDocument } from '../support/openapi-document.js';
import type { DerivedContract } from '../support/resource/resource-contract.js';
import { UniqueBodies } from '../support/resource/unique-bodies.js';

/** An account of a member for each currency, and bookings of accounts. */
const ENTITIES = [
  { tableName: 'members', references: {}, unique: [] },
  { tableName: 'accounts', references: { memberId: 'members' }, unique: ['memberId', 'currency'] },
  { tableName: 'bookings', references: { accountId: 'accounts' }, unique: [] },
];

const column = (propertyName: string) => ({ propertyName });

const dataSource = {
  entityMetadatas: ENTITIES.map(({ tableName, references, unique }) => ({
    tableName,
    uniques: [],
    indices: unique.length > 0 ? [{ isUnique: true, columns: unique.map(column) }] : [],
    foreignKeys: Object.entries(references).map(([name, parent]) => ({
      columns: [column(name)],
      referencedEntityMetadata: { tableName: parent },
    })),
  })),
} as unknown as DataSource;

const id = { type: 'integer' };

const document = {
  bodySchema: () => ({
    properties: { memberId: id, accountId: id, currency: { type: 'string', enum: ['EUR', 'USD'] } },
  }),
  operation: () => ({ parameters: [] }),
  resolve: (schema: unknown) => schema,
} as unknown as OpenApiDocument;

it('describeResource makes parents that are unique by a reference and an enum, enough of their own parents, and given values', () => {
  const examples = { '/members': (count: number) => ({ code: `c${count}` }) };
  const contract = { path: '/bookings', parents: ['/members', '/accounts'], examples } as unknown as DerivedContract;
  const unique = new UniqueBodies(dataSource, document, contract);
  const account = (): unknown => unique.next('/accounts', { memberId: 1, currency: 'EUR' });
  expect([account(), account()]).toEqual([
    { memberId: 4, currency: 'EUR' },
    { memberId: 5, currency: 'EUR' },
  ]);
  expect(unique.next('/members', { code: 'a' })).toEqual({ code: 'c3' });
  expect([unique.leastOf('/members'), unique.leastOf('/accounts')]).toEqual([3002, 2]);
});
