import type { Mutant } from './program/mutant.js';

const REQUESTS = ['test/logging/request-log.e2e-spec.ts'];
const LOG = ['test/logging/log.e2e-spec.ts'];
const ERRORS = ['test/logging/error-log.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'route-is-the-path',
    file: 'src/http/routing/route-of.ts',
    replace: `(request.routeOptions.url ?? 'unknown')`,
    by: 'request.url',
    breaks: 'The log names the pattern of a route, not the path.',
    specs: REQUESTS,
  },
  {
    id: 'address-is-that-of-the-proxy',
    file: 'src/http/connections/request-tracker.ts',
    replace: 'isIP(request.ip) === 0 ?',
    by: 'request.ip !== undefined ?',
    breaks: 'The line of a request has the address of the client, through the proxies in TRUST_PROXY.',
    specs: REQUESTS,
  },
  {
    id: 'rest-of-a-block-is-forgotten',
    file: 'src/logging/log-buffer.ts',
    replace: 'if (written < block.length) this.blocks[0] = block.subarray(written);',
    by: 'if (written === 0) this.blocks[0] = block.subarray(written);',
    breaks: 'No line is torn or lost where a socket takes a part of what is written.',
    specs: LOG,
    tests: 'is written whole to a slow reader',
  },
  {
    id: 'last-lines-are-lost',
    file: 'src/logging/standard-output.ts',
    replace: `    process.once('exit', () => buffer!.finish());\n`,
    by: '',
    breaks: 'What waits to be logged is written when the process ends.',
    specs: [...REQUESTS, ...LOG],
    tests: 'the last request before SIGTERM|is written whole to a slow reader',
  },
  {
    id: 'warnings-are-dropped-with-requests',
    file: 'src/logging/log-buffer.ts',
    replace: 'level < WARN ? REQUESTS_LIMIT : TOTAL_LIMIT',
    by: 'level <= WARN ? REQUESTS_LIMIT : TOTAL_LIMIT',
    breaks: 'While the reader of the log stalls, warnings are kept longer than lines of requests.',
    specs: LOG,
    tests: 'drops and counts lines of requests, not warnings',
  },
  {
    id: 'error-has-no-stack',
    file: 'src/http/errors/error.filter.ts',
    replace: `?? ''} failed (request \${request.id})\`, detail(error));`,
    by: `?? ''} failed (request \${request.id})\`);`,
    breaks: 'A 500 is logged with its stack.',
    specs: REQUESTS,
    tests: 'the log of a handler that throws',
  },
  {
    id: 'every-rejection-is-logged',
    file: 'src/logging/outage.ts',
    replace: 'if (this.isOpen || this.closed) return;',
    by: 'if (this.closed) return;',
    breaks: 'What goes wrong again and again is logged once, and counted.',
    specs: ['src/logging/outage.spec.ts', ...ERRORS],
    tests: 'Outage|has one warning for writes',
  },
  {
    id: 'line-ends-in-the-development-log-are-not-escaped',
    file: 'src/logging/readable-log.ts',
    replace: 'msg: escape(message)',
    by: 'msg: message',
    breaks: 'Nobody can forge a line of the log for people.',
    specs: LOG,
    tests: 'the log in development',
  },
];

export default mutants;
