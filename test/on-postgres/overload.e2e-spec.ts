import { usePostgres } from '../engine.js';

usePostgres();
await import('../overload.e2e-spec.js');
