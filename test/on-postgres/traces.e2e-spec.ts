import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../tracing/traces.e2e-spec.js');
