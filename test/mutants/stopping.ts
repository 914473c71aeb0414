import type { Mutant } from './program/mutant.js';

const STOPPING = ['test/server/stopping.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'sigterm-exits-hard',
    file: 'src/server/graceful-shutdown.ts',
    replace: `  process.on('SIGTERM', onSignal);`,
    by: `  process.on('SIGTERM', () => process.exit(0));`,
    breaks: 'On SIGTERM running requests are finished and the database is closed.',
    specs: STOPPING,
    tests: 'one tidy file',
  },
  {
    id: 'second-signal-is-ignored',
    file: 'src/server/graceful-shutdown.ts',
    replace: '    if (shutdown.hasBegun) exitWithError();\n',
    by: '    if (shutdown.hasBegun) return;\n',
    breaks: 'A second signal ends the service immediately.',
    specs: STOPPING,
    tests: 'second signal',
  },
  {
    id: 'still-ready-while-it-stops',
    file: 'src/server/graceful-shutdown.ts',
    replace: '    this.app.get(Health, { strict: false }).isStopping = true;\n',
    by: '    this.app.get(Health, { strict: false });\n',
    breaks: 'A service that stops is not ready.',
    specs: STOPPING,
    tests: 'is not ready and accepts',
  },
  {
    id: 'no-delay-for-the-balancer',
    file: 'src/server/graceful-shutdown.ts',
    replace: '    if (shutdownDelay > 0) await sleep(shutdownDelay);\n',
    by: '',
    breaks: 'New connections are served for SHUTDOWN_DELAY after the signal.',
    specs: STOPPING,
    tests: 'for SHUTDOWN_DELAY',
  },
  {
    id: 'slow-requests-are-never-cut-off',
    file: 'src/server/graceful-shutdown.ts',
    replace: '        connections.closeAll();\n',
    by: '',
    breaks: 'Requests that are not done within SHUTDOWN_TIMEOUT are cut off, and the exit code is 0.',
    specs: STOPPING,
    tests: 'cuts off a request',
  },
  {
    id: 'stop-without-a-limit',
    file: 'src/server/graceful-shutdown.ts',
    replace: '    setTimeout(() => this.giveUp(longest), longest);\n',
    by: '    setTimeout(() => this.giveUp(longest), longest * 1000);\n',
    breaks: 'A module that never closes does not keep the process.',
    specs: STOPPING,
    tests: 'never finishes closing',
  },
  {
    id: 'crash-exits-with-0',
    file: 'src/server/graceful-shutdown.ts',
    replace: 'shutdown.begin(origin, 1);',
    by: 'shutdown.begin(origin, 0);',
    breaks: 'An error that nothing caught ends the service with exit code 1.',
    specs: STOPPING,
    tests: 'is logged and stops the service in good order',
  },
];

export default mutants;
