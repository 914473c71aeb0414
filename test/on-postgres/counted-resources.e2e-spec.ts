import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../counted-resources.e2e-spec.js');
