import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../sorted-lists.e2e-spec.js');
