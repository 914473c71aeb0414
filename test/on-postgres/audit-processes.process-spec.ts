import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/audit-processes.process-spec.js');
