import type { Mutant } from './program/mutant.js';

const HEALTH = ['test/management/health.e2e-spec.ts'];
const METRICS = ['test/management/metrics.e2e-spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'database-is-waited-for-too-long',
    file: 'src/management/database-timeout.ts',
    replace: 'DATABASE_TIMEOUT = 2000;',
    by: 'DATABASE_TIMEOUT = 20_000;',
    breaks: 'Readiness and metrics come within 2 s while the database is silent.',
    specs: [...METRICS, ...HEALTH],
    tests: 'is frozen comes in time|while PostgreSQL is silent',
  },
  {
    id: 'not-ready-is-200',
    file: 'src/management/management-routes.ts',
    replace: '.code(ready ? 200 : 503)',
    by: '.code(200)',
    breaks: 'A service that is not ready says so by its status.',
    specs: HEALTH,
  },
  {
    id: 'stopping-service-is-ready',
    file: 'src/management/health.ts',
    replace: `this.isStopping ? 'the service is shutting down' : 'ok'`,
    by: `'ok'`,
    breaks: 'A service that is shutting down is not ready.',
    specs: ['test/server/stopping.e2e-spec.ts'],
    tests: 'is not ready and refuses new connections|SHUTDOWN_DELAY',
  },
  {
    id: 'pending-migrations-are-ready',
    file: 'src/management/health.ts',
    replace: 'if (pending.length > 0) throw',
    by: 'if (pending.length < 0) throw',
    breaks: 'A service whose migrations are due is not ready.',
    specs: HEALTH,
    tests: 'names the migrations while they are due',
  },
  {
    id: 'missing-storage-row-is-ready',
    file: 'src/management/health.ts',
    replace: 'if (!resource.hasRow) await',
    by: 'if (resource.hasRow) await',
    breaks: 'A service without the storage row of a resource is not ready.',
    specs: ['test/resource/counted-resources.e2e-spec.ts'],
    tests: 'makes GET /cookies/1 500',
  },
  {
    id: 'seconds-of-requests-are-milliseconds',
    file: 'src/management/http-metrics.ts',
    replace: 'status }, milliseconds / 1000);',
    by: 'status }, milliseconds);',
    breaks: 'http_request_duration_seconds is in seconds.',
    specs: METRICS,
    tests: 'measures a request from its arrival',
  },
  {
    id: 'requests-without-a-response-are-not-counted',
    file: 'src/management/http-metrics.ts',
    replace: `    durations.observe(`,
    by: `    if (status === 'none') return;\n    durations.observe(`,
    breaks: 'A request that got no response is counted under the status "none".',
    specs: METRICS,
    tests: 'whose connection closes before',
  },
  {
    id: 'metrics-fail-with-the-database',
    file: 'src/management/metrics.ts',
    replace: '.catch(() => undefined)',
    by: '',
    breaks: 'GET /metrics has all other figures while the database is away.',
    specs: METRICS,
    tests: 'while PostgreSQL',
  },
  {
    id: 'errors-of-the-engine-are-not-counted',
    file: 'src/management/database-metrics.ts',
    replace: 'this.errors.inc({ kind: kind as EngineError })',
    by: 'void (kind as EngineError)',
    breaks: 'database_errors_total counts the errors of the engine.',
    specs: ['test/logging/error-log.e2e-spec.ts'],
    tests: 'with a damaged page',
  },
];

export default mutants;
