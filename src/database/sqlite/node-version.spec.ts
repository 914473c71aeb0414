import { requireSafeNode } from './node-version.js';

describe('the version of Node that SQLite is used on', () => {
  it.each(['20.19.0', '22.23.2'])('may be %s', (version) => {
    expect(() => requireSafeNode(version)).not.toThrow();
  });

  it.each(['24.0.0', '26.1.0'])('may not be %s, and the message says what may', (version) => {
    expect(() => requireSafeNode(version)).toThrow(/run Node 20 or 22, or use PostgreSQL/);
  });
});
