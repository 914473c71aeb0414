import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/idempotent-processes.process-spec.js');
