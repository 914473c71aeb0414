import { readFileSync } from 'node:fs';
import { nodeVersionError, SUPPORTED_NODE } from './node-version.js';

describe('the version of Node', () => {
  it.each(['20.19.0', '20.20.2', '22.14.0', '22.23.3', '23.6.0', '24.21.0', '26.10.0'])(
    '%s is supported',
    (version) => {
      expect(nodeVersionError(version)).toBeUndefined();
    },
  );

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.13.1', '23.5.0', '0.12.18'])('%s is rejected in one line', (version) => {
    expect(nodeVersionError(version)).toMatch(new RegExp(`^Node ${version} cannot run this service: install .*$`));
    expect(nodeVersionError(version)).toContain(SUPPORTED_NODE);
  });

  it('is equal to engines in package.json', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    expect(engines.node).toBe(SUPPORTED_NODE);
  });
});
