import { usePostgres } from '../engine.js';

usePostgres();
await import('../feature-errors.e2e-spec.js');
