import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../capacity.e2e-spec.js');
