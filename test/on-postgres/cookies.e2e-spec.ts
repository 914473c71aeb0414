import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../cookies.e2e-spec.js');
