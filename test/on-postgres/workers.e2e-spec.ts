import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../workers.e2e-spec.js');
