import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/leases.e2e-spec.js');
