// Together, because loading the application takes longer than each of them.
await import('../deploy.e2e-spec.js');
await import('../resource/filtered-lists.e2e-spec.js');
await import('../resource/samples.e2e-spec.js');
