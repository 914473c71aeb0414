import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/capacity.e2e-spec.js');
