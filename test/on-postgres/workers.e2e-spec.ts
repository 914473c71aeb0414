import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../server/workers.e2e-spec.js');
