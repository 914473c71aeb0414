// Together, because loading the application takes longer than each of them.
await import('../admin/admin-routes.e2e-spec.js');
await import('../auth/claims.e2e-spec.js');
await import('../auth/ecosystem.e2e-spec.js');
await import('../auth/key-sets.e2e-spec.js');
await import('../auth/keys.e2e-spec.js');
await import('../auth/provider-tokens.e2e-spec.js');
await import('../auth/token-form.e2e-spec.js');
await import('../rate-limit/rate-limit.e2e-spec.js');
