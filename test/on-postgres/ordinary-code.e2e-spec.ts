import { usePostgres } from '../engine.js';

usePostgres();
await import('../ordinary-code.e2e-spec.js');
