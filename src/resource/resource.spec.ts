import { ResourceName } from './resource.js';

it('the name of a resource of two words gives its texts, its types and its error code', () => {
  const name = new ResourceName('umbrella-stand', 'umbrella_stands');
  const { text, pluralText, indefinite, typeName, pluralTypeName, notFoundCode } = name;
  expect([text, pluralText, indefinite]).toEqual(['umbrella stand', 'umbrella stands', 'an umbrella stand']);
  expect([typeName, pluralTypeName]).toEqual(['UmbrellaStand', 'UmbrellaStands']);
  expect([0, 1].map((count) => name.counted(count))).toEqual(['0 umbrella stands', '1 umbrella stand']);
  expect(notFoundCode).toBe('UMBRELLA_STAND_NOT_FOUND');
});
