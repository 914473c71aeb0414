import { INTEGER_IDS, UUID_IDS } from './id-kinds.js';

const UUID = '01999999-0000-7000-8000-00000000000a';

it('ids that are made in a row ascend, also within a millisecond, and are UUIDs of version 7', () => {
  const made = Array.from({ length: 20_000 }, () => UUID_IDS.next!());
  expect([...new Set(made)].sort()).toEqual(made);
  const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(made.filter((id) => !version7.test(id))).toEqual([]);
  const milliseconds = Number.parseInt(made[0]!.replace('-', '').slice(0, 12), 16);
  expect(Math.abs(Date.now() - milliseconds)).toBeLessThan(60_000);
});

it.each([UUID, '6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
  'the UUID %s is an id',
  (id) => expect([UUID_IDS.parse(id), UUID_IDS.isId(id)]).toEqual([id, true]),
);

it.each([
  ...[
    UUID.toUpperCase(),
    UUID.replaceAll('-', ''),
    UUID.replace('0000-', ''),
    `{${UUID}}`,
    `urn:uuid:${UUID}`,
    `${UUID} `,
    `${UUID}\n`,
    UUID.slice(1),
  ],
  ...['', '0', '1', UUID.replace('a', 'g'), UUID_IDS.lowest],
])('the text %j is no id that is a UUID', (text) => {
  expect([UUID_IDS.parse(text), UUID_IDS.isId(text)]).toEqual([undefined, false]);
});

it('the kinds tell numbers from texts', () => {
  expect([INTEGER_IDS.isId(UUID), INTEGER_IDS.isId('1'), INTEGER_IDS.isId(1), UUID_IDS.isId(1)]).toEqual([
    ...[false, false, true, false],
  ]);
  expect([INTEGER_IDS.parse('1'), INTEGER_IDS.parse('0'), INTEGER_IDS.parse(UUID)]).toEqual([1, undefined, undefined]);
});
