import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../database/migrations.e2e-spec.js');
