import { usePostgres } from '../support/engine.js';

usePostgres();
// Together, because loading the application takes longer than some of them.
await import('../database/migration-scripts.process-spec.js');
await import('../http/overload.process-spec.js');
await import('../resource/audit-processes.process-spec.js');
