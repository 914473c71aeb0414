import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/audit-processes.e2e-spec.js');
