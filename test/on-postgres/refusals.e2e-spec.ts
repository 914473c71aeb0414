import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../refusals.e2e-spec.js');
