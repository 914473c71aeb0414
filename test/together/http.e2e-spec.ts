// Together, because loading the application takes longer than each of them.
await import('../http/bodies.e2e-spec.js');
await import('../http/own-routes.e2e-spec.js');
await import('../http/path-prefix.e2e-spec.js');
await import('../http/rejections.e2e-spec.js');
await import('../http/responses.e2e-spec.js');
await import('../http/schemas.e2e-spec.js');
await import('../http/validation.e2e-spec.js');
