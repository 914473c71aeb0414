import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../overload.e2e-spec.js');
