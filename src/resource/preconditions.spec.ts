import { etagOf, Preconditions } from './preconditions.js';

it('412 tells a weak tag in If-Match, which a proxy may have made, and a tag without quotes from an old one', () => {
  const version = { epoch: 'e', revision: 2 };
  expect(() => new Preconditions(`W/${etagOf(version)}`).isNotModified(version)).toThrow('leave out W/');
  expect(() => new Preconditions('W/"e-1"').isNotModified(version)).toThrow('has changed since you read it');
  expect(() => new Preconditions('e-2').isNotModified(version)).toThrow('with its double quotes');
});
