import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../http/overload.process-spec.js');
