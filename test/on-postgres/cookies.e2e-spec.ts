import { usePostgres } from '../engine.js';

usePostgres();
await import('../cookies.e2e-spec.js');
