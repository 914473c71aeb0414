import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../http/overload.e2e-spec.js');
