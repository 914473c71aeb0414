// Together, because loading the application takes longer than each of them.
await import('../openapi/docs-files.e2e-spec.js');
await import('../openapi/openapi.e2e-spec.js');
await import('../openapi/owasp.e2e-spec.js');
await import('../openapi/released-document.e2e-spec.js');
