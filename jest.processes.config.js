import config from './jest.config.js';

/** The specs of `npm run test:processes`: they start, interrupt and kill the built service, or copy and compile the project. */
export default { ...config, testRegex: '/test/project/.*spec\\.ts$|\\.process-spec\\.ts$', testPathIgnorePatterns: [] };
