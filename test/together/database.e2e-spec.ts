// Together, because loading the application takes longer than each of them.
await import('../database/data-layer.e2e-spec.js');
await import('../database/group-commit.e2e-spec.js');
await import('../database/instants.e2e-spec.js');
await import('../database/migrations.e2e-spec.js');
await import('../database/native-module.e2e-spec.js');
await import('../database/open-transactions.e2e-spec.js');
await import('../database/pooler.e2e-spec.js');
await import('../database/table-rebuilds.e2e-spec.js');
