import { usePostgres } from '../support/engine.js';

usePostgres();
await import('../resource/sorted-lists.e2e-spec.js');
