import { usePostgres } from '../engine.js';

usePostgres();
await import('../parcels.e2e-spec.js');
