// Together, because loading the application takes longer than each of them.
await import('../auth/revocation.e2e-spec.js');
await import('../rate-limit/shared-rate-limit.e2e-spec.js');
await import('../resource/audit.e2e-spec.js');
await import('../resource/counted-resources.e2e-spec.js');
await import('../resource/feature-errors.e2e-spec.js');
await import('../resource/idempotency.e2e-spec.js');
await import('../resource/leases.e2e-spec.js');
await import('../resource/other-writers.e2e-spec.js');
await import('../resource/outings.e2e-spec.js');
await import('../resource/resource-store.e2e-spec.js');
await import('../resource/rules.e2e-spec.js');
await import('../resource/sorted-lists.e2e-spec.js');
await import('../resource/two-services.e2e-spec.js');
await import('../resource/uuid-ids.e2e-spec.js');
// Last, because it declares a wrong list of the samples, with which no service starts.
await import('../resource/json-properties.e2e-spec.js');
