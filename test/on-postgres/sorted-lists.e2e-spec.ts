import { usePostgres } from '../engine.js';

usePostgres();
await import('../sorted-lists.e2e-spec.js');
