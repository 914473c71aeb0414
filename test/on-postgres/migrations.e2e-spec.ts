import { usePostgres } from '../engine.js';

usePostgres();
await import('../migrations.e2e-spec.js');
