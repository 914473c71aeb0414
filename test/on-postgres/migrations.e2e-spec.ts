import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../migrations.e2e-spec.js');
