export const spec = ({ plural }) => `
  import { describeResource } from './support/resource/describe-resource.js';

  await describeResource({ path: '/${plural}' });
`;

/** The spec for PostgreSQL. */
export const specOnPostgres = ({ plural }) => `
  import { usePostgres } from '../support/engine.js';

  usePostgres();
  await import('../${plural}.e2e-spec.js');
`;
