import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../database/migration-scripts.process-spec.js');
