import { etagOf, Preconditions } from './preconditions.js';

it('the message of a 412 distinguishes a weak tag of a proxy, a tag without quotes and an old tag in If-Match', () => {
  const version = { epoch: 'e', revision: 2 };
  expect(() => new Preconditions(`W/${etagOf(version)}`).isNotModified(version)).toThrow('leave out W/');
  expect(() => new Preconditions('W/"e-1"').isNotModified(version)).toThrow('has changed since you read it');
  expect(() => new Preconditions('e-2').isNotModified(version)).toThrow('with its double quotes');
});
