import type { DataSource } from 'typeorm';
import type { OpenApiDocument } from '../support/openapi-document.js';
import type { DerivedContract } from '../support/resource/resource-contract.js';
import { UniqueBodies } from '../support/resource/unique-bodies.js';

/** An account of a member for each currency, and bookings of accounts. */
const ENTITIES = [
  { tableName: 'members', references: {}, unique: [] },
  { tableName: 'accounts', references: { memberId: 'members' }, unique: ['memberId', 'currency'] },
  { tableName: 'bookings', references: { accountId: 'accounts' }, unique: [] },
  { tableName: 'tariffs', references: {}, unique: ['price'] },
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

const price = { type: 'string', format: 'decimal', example: '100.00', 'x-minimum': 100 };

const document = {
  bodySchema: () => ({
    properties: { memberId: id, accountId: id, currency: { type: 'string', enum: ['EUR', 'USD'] }, price },
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

it('describeResource gives a unique decimal values that are not below its least value', () => {
  const contract = { path: '/tariffs', parents: [], examples: {} } as unknown as DerivedContract;
  const { price } = new UniqueBodies(dataSource, document, contract).next('/tariffs', { price: '100.00' });
  expect(Number(price)).toBeGreaterThanOrEqual(100);
});
