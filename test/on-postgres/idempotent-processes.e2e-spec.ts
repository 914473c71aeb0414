import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/idempotent-processes.e2e-spec.js');
