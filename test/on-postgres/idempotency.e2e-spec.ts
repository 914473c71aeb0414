import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/idempotency.e2e-spec.js');
