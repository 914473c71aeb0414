// Runs the command blocks of README.md and docs/operating.md with a real Docker Engine, in a copy of the project and
// with other project names: node test/compose/documents.js
// With --check it only compares the blocks with the list below, as test/project-documents.spec.ts does.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandBlocks } from '../support/project/command-blocks.js';

const ROOT = join(import.meta.dirname, '../..');
const PORT = process.env['DOCUMENTS_PORT'] ?? '3900';
const API = `http://127.0.0.1:${PORT}`;

/** Blocks about a checkout, which .ci/run and test/readme.e2e-spec.ts run. */
const ELSEWHERE = ['README.md Start 1', 'README.md Start 2'];

/** Blocks with other needs, such as systemd and Kubernetes. test/operating.process-spec.ts runs the last one. */
const NOT_RUN = [
  'docs/operating.md One machine with systemd 1',
  ...[1, 2].map((number) => `docs/operating.md Kubernetes ${number}`),
  ...[1, 2, 3, 4].map((number) => `docs/operating.md Point in time ${number}`),
  'docs/operating.md Go back 1',
];

/** All other blocks in an order in which each finds what it needs, with the check after a block. */
const ORDER = [
  ['README.md Deploy 1'],
  ['README.md A tour with curl 1', (output) => expectTour(output)],
  ['docs/operating.md One container 1', (output) => expect(/^ey[\w-]+\.[\w-]+\.[\w-]+$/m, output)],
  ['docs/operating.md One container 2', () => expectCapacity('compose.yaml', 1_000_000)],
  ['docs/operating.md TLS 1', () => expectHttps()],
  ['docs/operating.md What the image contains 1', (output) => expectShipped(output)],
  ['docs/operating.md Back up and restore 1'],
  ['docs/operating.md Back up and restore 2', (output) => expect(/Restored 1 cookie /, output)],
  [
    'docs/operating.md Backups on a schedule 1',
    (output) => [/can be restored: it holds 1 cookie\./, /^ok +last backup /m].forEach((text) => expect(text, output)),
  ],
  ['docs/operating.md From one container to a cluster 1', (output) => expect(/"msg":"Ran the migrations /, output)],
  ['docs/operating.md From one container to a cluster 2', (output) => expect(/Imported 1 cookie\b/, output)],
  ['docs/operating.md From one container to a cluster 3', () => expectNextId(3)],
  ['docs/operating.md Upgrade 1', () => expectReplicas(3)],
  ['docs/operating.md PostgreSQL 1', () => expectReplicas(3)],
];

function expect(pattern, text) {
  if (!pattern.test(text)) throw new Error(`${pattern} is not in what was printed:\n${text.slice(-2000)}`);
}

/** Checks that the statuses of the responses are those written in the tour. */
function expectTour(output) {
  const wanted = [...blocks.get('README.md A tour with curl 1').matchAll(/^#> (\d{3})/gm)].map(([, status]) => status);
  const got = [...output.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
  if (wanted.join() !== got.join()) throw new Error(`the tour gave ${got.join()}, not ${wanted.join()}`);
}

/** Checks that the bill of materials has exactly the packages of the container. */
function expectShipped(output) {
  const { components } = JSON.parse(output);
  const listed = components.map(({ name, version }) => `${name}@${version}`).sort();
  const program = `
    const { readdirSync, readFileSync } = require('node:fs');
    const found = ['node@' + process.versions.node];
    for (const file of readdirSync('node_modules', { recursive: true })) {
      if (!/(^|node_modules\\/)(@[^/]+\\/)?[^/@]+\\/package\\.json$/.test(file)) continue;
      const { name, version } = JSON.parse(readFileSync('node_modules/' + file));
      found.push(name + '@' + version);
    }
    console.log([...new Set(found)].sort().join('\\n'));`;
  const installed = run(`docker compose exec -T service node -e "${program}"`).trim();
  if (listed.join('\n') !== installed) throw new Error(`listed:\n${listed.join('\n')}\ninstalled:\n${installed}`);
}

function expectCapacity(file, capacity) {
  expect(new RegExp(`of ${capacity}$`, 'm'), run(`docker compose -f ${file} exec -T service cli doctor`));
}

/** Expects 401 from the service, with a certificate that curl trusts. */
function expectHttps() {
  const address = API.replace('http://127.0.0.1', 'https://localhost');
  expect(/^401$/, run(`curl -s -o /dev/null -w '%{http_code}' --cacert secrets/tls_certificate ${address}/cookies`));
}

function expectReplicas(count) {
  const running = run('docker compose -f compose.cluster.yaml ps -q service').trim().split('\n');
  if (running.length !== count) throw new Error(`${running.length} replicas run, not ${count}`);
  expectCapacity('compose.cluster.yaml', 1_000_000);
  // HAProxy checks its replicas every second.
  run(`for i in $(seq 30); do curl -sf ${API}/cookies -H "$(${AUTH})" > /dev/null && exit 0; sleep 1; done; exit 1`);
}

/** Expects the id of the next cookie. The tour has used ids 1 and 2, which no later storage may give again. */
function expectNextId(id) {
  const cookie = '{"flavor":"vanilla","size":"small","wish":"Rain"}';
  const post = `curl -s ${API}/cookies -H "$(${AUTH})" -H 'Content-Type: application/json' -d '${cookie}'`;
  expect(new RegExp(`^\\{"id":${id},`), run(post));
}

const AUTH =
  'echo "Authorization: Bearer $(docker compose -f compose.cluster.yaml exec -T service cli token --sub alice)"';

function run(script) {
  const env = { ...process.env, PUBLISH: `127.0.0.1:${PORT}`, PUBLISH_PROMETHEUS: '127.0.0.1:0' };
  const { status, stdout, stderr } = spawnSync('bash', ['-c', `set -eo pipefail\n${script}`], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`exit code ${status}\n${stdout}\n${stderr}`);
  return stdout + stderr;
}

/** Replaces the date and the port, as a reader would. */
function adapted(block) {
  const today = new Date().toISOString().slice(0, 10);
  return block.replaceAll('2026-11-21', today).replaceAll('http://127.0.0.1:3000', API);
}

const blocks = new Map(
  ['README.md', 'docs/operating.md'].flatMap((file) =>
    [...commandBlocks(file)].map(([name, { script }]) => [`${file} ${name}`, script]),
  ),
);
const listed = [...ELSEWHERE, ...NOT_RUN, ...ORDER.map(([name]) => name)];
const unlisted = [...blocks.keys()].filter((name) => !listed.includes(name));
const gone = listed.filter((name) => !blocks.has(name));
if (unlisted.length + gone.length > 0) {
  console.error(`No test runs: ${unlisted.join('; ') || 'none'}. Not there: ${gone.join('; ') || 'none'}.`);
  process.exit(1);
}
if (process.argv.includes('--check')) process.exit(0);

const folder = mkdtempSync(join(tmpdir(), 'cookies-documents-'));
let shell = '';
try {
  execFileSync('bash', ['-c', `git ls-files -z | xargs -0 cp --parents -t ${folder}`], { cwd: ROOT });
  for (const file of ['compose.yaml', 'compose.cluster.yaml']) {
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(join(folder, file), text.replace(/^name: /m, 'name: documents-'));
  }
  for (const [name, check = () => {}] of ORDER) {
    // The tour runs in the shell of the deployment.
    shell = name.startsWith('README.md') ? shell + adapted(blocks.get(name)) : adapted(blocks.get(name));
    console.log(`==> ${name}`);
    check(run(shell));
  }
  console.log('Every command block did what it says.');
} finally {
  for (const file of ['compose.yaml', 'compose.cluster.yaml']) {
    spawnSync('docker', ['compose', '-f', file, 'down', '-v', '--timeout', '5'], { cwd: folder, stdio: 'inherit' });
  }
  rmSync(folder, { recursive: true });
}
