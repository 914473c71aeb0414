import config from './jest.config.js';

/** The specs of `npm run test:processes`: they start commands, browsers or the built service, or copy the project. */
export default {
  ...config,
  testRegex: '/test/project/.*spec\\.ts$|\\.process-spec\\.ts$',
  testPathIgnorePatterns: [],
  // Starts and builds take minutes on a machine that is under load.
  testTimeout: 300_000,
};
