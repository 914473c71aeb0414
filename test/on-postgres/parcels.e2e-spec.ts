import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/parcels.e2e-spec.js');
