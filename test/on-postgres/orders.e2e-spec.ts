import { usePostgres } from '../engine.js';

usePostgres();
await import('../orders.e2e-spec.js');
