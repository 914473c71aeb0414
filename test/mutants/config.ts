import type { Mutant } from './program/mutant.js';

const CONFIG = ['src/config/config.spec.ts', 'src/config/env-file.spec.ts'];

const mutants: readonly Mutant[] = [
  {
    id: 'secret-may-be-short',
    file: 'src/config/hmac-secret.ts',
    replace: 'const SHORTEST = 32;',
    by: 'const SHORTEST = 31;',
    breaks: 'A secret of 31 bytes is too short (RFC 7518 section 3.2).',
    specs: CONFIG,
  },
  {
    id: 'env-file-beats-the-environment',
    file: 'src/config/config.ts',
    replace: 'loadConfig({ ...file, ...process.env }, ofFeatures)',
    by: 'loadConfig({ ...process.env, ...file }, ofFeatures)',
    breaks: 'A variable of the environment beats the one in `.env`.',
    specs: CONFIG,
  },
  {
    id: 'env-file-is-read-in-production',
    file: 'src/config/config.ts',
    replace: "  if (process.env['NODE_ENV'] === 'production') return loadConfig(process.env, ofFeatures);\n",
    by: '',
    breaks: '`.env` is not read in production.',
    specs: CONFIG,
  },
  {
    id: 'secret-file-keeps-its-line-end',
    file: 'src/config/read-setting.ts',
    replace: "return readFileSync(path, 'utf8').replace(/\\r?\\n$/, '');",
    by: "return readFileSync(path, 'utf8');",
    breaks: 'The line end of a secret file is not part of the secret.',
    specs: CONFIG,
  },
  {
    id: 'value-and-file-may-both-be-set',
    file: 'src/config/read-setting.ts',
    replace: '  if (text !== undefined) throw new Error(`and ${name}_FILE are both set; set one of them`);\n',
    by: '',
    breaks: 'A value and a file for the same setting stop the start.',
    specs: CONFIG,
  },
  {
    id: 'production-starts-without-a-key',
    file: 'src/config/rules.ts',
    replace: "environment === 'production' && !isSet(secret) && !isSet(publicKey)",
    by: "environment === 'production' && !isSet(secret) && isSet(publicKey)",
    breaks: 'Production does not start without a key for the tokens.',
    specs: CONFIG,
  },
  {
    id: 'short-rsa-keys-are-taken',
    file: 'src/config/public-key.ts',
    replace: 'modulusLength < 2048',
    by: 'modulusLength < 1024',
    breaks: 'An RSA key has at least 2048 bits (RFC 7518 section 3.3).',
    specs: CONFIG,
  },
  {
    id: 'public-key-needs-no-audience',
    file: 'src/config/rules.ts',
    replace: '[issuer, audience]',
    by: '[issuer]',
    breaks: 'With a public key, an audience must be set.',
    specs: CONFIG,
  },
  {
    id: 'service-links-stop-the-start',
    file: 'src/config/near-misses.ts',
    replace: '.filter((name) => !known.has(name) && !isServiceLink(name, environment))',
    by: '.filter((name) => !known.has(name))',
    breaks: 'What Kubernetes sets for a Service named cookies does not stop the start.',
    specs: CONFIG,
  },
];

export default mutants;
