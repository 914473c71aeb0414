import type { Mutant } from './program/mutant.js';

const SERVING = ['test/server/workers.e2e-spec.ts'];
const PROCESSES = ['test/server/worker-processes.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'port-closes-while-connections-are-on-their-way',
    file: 'src/server/primary.ts',
    replace: '        old.stop();',
    by: `        old.stop('SIGKILL');`,
    breaks: 'No request is lost while workers are replaced.',
    specs: SERVING,
    tests: 'loses no request',
  },
  {
    id: 'counts-go-with-their-worker',
    file: 'src/server/workers-management.ts',
    replace: `['counter', 'histogram'].includes(String(type))`,
    by: `['histograms'].includes(String(type))`,
    breaks: 'A counter never goes down when a worker is replaced.',
    specs: PROCESSES,
    tests: 'adds its metrics up',
  },
  {
    id: 'last-metrics-are-not-sent',
    file: 'src/server/worker.ts',
    replace: `send({ type: 'metrics', id: 0, value: await metrics() })`,
    by: 'void (await metrics())',
    breaks: 'What a worker has counted between the last scrape and its end is in the metrics.',
    specs: PROCESSES,
    tests: 'adds its metrics up',
  },
  {
    id: 'crashed-worker-is-not-replaced',
    file: 'src/server/primary.ts',
    replace: '    setTimeout(() => this.forkMissing(), this.pause);\n',
    by: '',
    breaks: 'A worker that has crashed is replaced.',
    specs: PROCESSES,
    tests: 'serves on when a worker is killed',
  },
  {
    id: 'replacements-without-pauses',
    file: 'src/server/primary.ts',
    replace: 'this.forkMissing(), this.pause)',
    by: 'this.forkMissing(), 0)',
    breaks: 'Workers that end soon are replaced after pauses.',
    specs: PROCESSES,
    tests: 'is tried five times',
  },
  {
    id: 'stuck-worker-is-live',
    file: 'src/server/workers-management.ts',
    replace: '.every(({ reply }) => reply === true)',
    by: '.some(({ reply }) => reply === true)',
    breaks: 'A service of which a worker does not respond is not live.',
    specs: PROCESSES,
    tests: 'neither live nor ready',
  },
];

export default mutants;
