import { usePostgres } from '../engine.js';

usePostgres();
await import('../refusals.e2e-spec.js');
