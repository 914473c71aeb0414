import { availableParallelism } from 'node:os';
import { SWC_OPTIONS } from './test/support/jest/swc-options.js';

export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/test'],
  testRegex: '\\.(e2e-)?spec\\.ts$',
  // `npm run test:processes` runs these and all `*.process-spec.ts`.
  testPathIgnorePatterns: ['<rootDir>/test/project/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '\\.ts$': ['@swc/jest', SWC_OPTIONS] },
  globalSetup: '<rootDir>/test/support/jest/build.ts',
  globalTeardown: '<rootDir>/test/support/jest/start-postgres.ts',
  testSequencer: '<rootDir>/test/support/jest/sequencer.js',
  // Far beyond what any takes: a loaded machine is no fault, and a test that hangs ends all the same.
  testTimeout: 120_000,
  // Twice as many as there are cores: many tests wait for processes, time-outs and the disk.
  maxWorkers: 2 * availableParallelism(),
  // Jest keeps the modules of every file that a worker has run. At 2 GB, collecting the garbage takes most of the time.
  workerIdleMemoryLimit: '500MB',
  collectCoverageFrom: ['src/**/*.ts', '!src/**/*.spec.ts', '!src/main.ts'],
};
