import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../parcels.e2e-spec.js');
