import config from './jest.config.js';

/** The specs of `npm run test:project`, which copy and compile the project: they take as long as a third of all others. */
export default { ...config, roots: ['<rootDir>/test/project'], testPathIgnorePatterns: [] };
