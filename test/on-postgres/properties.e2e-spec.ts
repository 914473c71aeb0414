import { usePostgres } from '../engine.js';

usePostgres();
await import('../properties.e2e-spec.js');
