import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../feature-errors.e2e-spec.js');
