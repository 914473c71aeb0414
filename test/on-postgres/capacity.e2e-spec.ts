import { usePostgres } from '../engine.js';

usePostgres();
await import('../capacity.e2e-spec.js');
