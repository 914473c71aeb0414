import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../server/workers.process-spec.js');
