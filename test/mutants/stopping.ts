import type { Mutant } from './program/mutant.js';

const STOPPING = ['test/stopping.e2e-spec.ts'];
const MIGRATIONS = ['test/migrations.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'sigterm-exits-hard',
    file: 'src/stop.ts',
    replace: `  process.on('SIGTERM', onSignal);`,
    by: `  process.on('SIGTERM', () => process.exit(0));`,
    breaks: 'On SIGTERM running requests are finished and the database is closed.',
    specs: STOPPING,
    tests: 'one tidy file',
  },
  {
    id: 'sigint-is-not-caught',
    file: 'src/stop.ts',
    replace: `  process.on('SIGINT', onSignal);\n`,
    by: '',
    breaks: 'Ctrl+C stops the service in good order.',
    specs: STOPPING,
    tests: 'second signal|on SIGINT under load',
  },
  {
    id: 'second-signal-is-ignored',
    file: 'src/stop.ts',
    replace: '    if (shutdown.hasBegun) exitWithError();\n',
    by: '    if (shutdown.hasBegun) return;\n',
    breaks: 'A second signal ends the service immediately.',
    specs: STOPPING,
    tests: 'second signal',
  },
  {
    id: 'still-ready-while-it-stops',
    file: 'src/stop.ts',
    replace: '    this.app.get(Lifecycle, { strict: false }).stop();\n',
    by: '    this.app.get(Lifecycle, { strict: false });\n',
    breaks: 'A service that stops is not ready.',
    specs: STOPPING,
    tests: 'is not ready and refuses',
  },
  {
    id: 'no-delay-for-the-balancer',
    file: 'src/stop.ts',
    replace: '    if (shutdownDelay > 0) await sleep(shutdownDelay);\n',
    by: '',
    breaks: 'New connections are served for SHUTDOWN_DELAY after the signal.',
    specs: STOPPING,
    tests: 'for SHUTDOWN_DELAY',
  },
  {
    id: 'new-connections-while-it-finishes',
    file: 'src/stop.ts',
    replace: '    NetServer.prototype.close.call(this.app.getHttpServer());\n',
    by: '',
    breaks: 'Behind SHUTDOWN_DELAY no new connection is taken.',
    specs: STOPPING,
    tests: 'is not ready and refuses',
  },
  {
    id: 'idle-connections-hold-the-stop',
    file: 'src/stop.ts',
    replace: 'connections.closeIdle();',
    by: 'connections.open;',
    breaks: 'A connection without a request does not hold up the stop.',
    specs: STOPPING,
    tests: 'does not wait for a connection',
  },
  {
    id: 'slow-requests-are-never-cut-off',
    file: 'src/stop.ts',
    replace: '        connections.closeAll();\n',
    by: '',
    breaks: 'Requests that are not done within SHUTDOWN_TIMEOUT are cut off, and the exit code is 0.',
    specs: STOPPING,
    tests: 'cuts off a request',
  },
  {
    id: 'database-is-not-closed',
    file: 'src/stop.ts',
    replace: '    await this.app.close();\n',
    by: '',
    breaks: 'A stop closes the database: its WAL is folded into it.',
    specs: STOPPING,
    tests: 'one tidy file',
  },
  {
    id: 'close-does-not-wait-for-the-write',
    file: 'src/database/sqlite/sqlite-driver.ts',
    replace: '    await this.writer.close();\n',
    by: '    void this.writer.close();\n',
    breaks: 'A write that has begun is committed before the database closes.',
    specs: STOPPING,
    tests: 'write that is in hand',
  },
  {
    id: 'limit-forgets-the-delay',
    file: 'src/stop.ts',
    replace: 'this.config.shutdownDelay + this.config.shutdownTimeout + CLOSE_TIMEOUT',
    by: 'this.config.shutdownTimeout + CLOSE_TIMEOUT',
    breaks: 'The limit of a stop is SHUTDOWN_DELAY, SHUTDOWN_TIMEOUT and 5 s together.',
    specs: STOPPING,
    tests: 'never finishes closing',
  },
  {
    id: 'stop-without-a-limit',
    file: 'src/stop.ts',
    replace: '    setTimeout(() => this.giveUp(longest), longest);\n',
    by: '    setTimeout(() => this.giveUp(longest), longest * 1000);\n',
    breaks: 'A module that never closes does not keep the process.',
    specs: STOPPING,
    tests: 'never finishes closing',
  },
  {
    id: 'exit-waits-for-a-hanging-file',
    file: 'src/stop.ts',
    replace: `    process.kill(process.pid, 'SIGKILL');\n`,
    by: '',
    breaks: 'A file operation that never ends does not keep the process.',
    specs: STOPPING,
    tests: 'while a file operation hangs',
  },
  {
    id: 'crash-exits-with-0',
    file: 'src/stop.ts',
    replace: 'shutdown.begin(origin, 1);',
    by: 'shutdown.begin(origin, 0);',
    breaks: 'An error that nothing caught ends the service with exit code 1.',
    specs: STOPPING,
    tests: 'is logged and stops the service in good order',
  },
  {
    id: 'error-while-stopping-exits-with-0',
    file: 'src/stop.ts',
    replace: '      shutdown.exitCode = 1;\n',
    by: '',
    breaks: 'An error during the stop makes its exit code 1.',
    specs: STOPPING,
    tests: 'by SIGTERM 1',
  },
  {
    id: 'port-in-use-is-a-stack',
    file: 'src/serve.ts',
    replace: `syscall === 'listen' || syscall === 'bind'`,
    by: `syscall === 'connect' || syscall === 'bind'`,
    breaks: 'An address in use is named without a stack.',
    specs: STOPPING,
    tests: 'is in use',
  },
  {
    id: 'migrations-look-before-the-lock',
    file: 'src/database/migrations.ts',
    replace: `    await runner.startTransaction();
    try {
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'all';
      const done = await executor.executePendingMigrations();
      await runner.commitTransaction();`,
    by: `    try {
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'all';
      const done = await executor.executePendingMigrations();
      if (runner.isTransactionActive) await runner.commitTransaction();`,
    breaks: 'Of several processes that start at once one migrates, and the others wait for it.',
    specs: MIGRATIONS,
    tests: 'wait for the one',
  },
];

export default mutants;
