/**
 * Makes a release in this repository: version, changelog, contract, commit and tag. It pushes nothing.
 * `npm run release -- 1.2.0 --dry-run` only checks.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { transformSync } from '@swc/core';
import { buildIfChanged } from './build.js';
import { packProgram } from './released-program.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CONTRACT = 'docs/openapi.json';
const UNRELEASED = '## [Unreleased]\n';
const KINDS = ['patch', 'minor', 'major'];
/** Files with the version, besides package.json and the lock file. */
const VERSIONED = {
  Dockerfile: /(?<=^ARG VERSION=).*/m,
  'deploy/kubernetes/base/kustomization.yaml': /(?<=newTag: ).*/,
};

const read = (file) => readFileSync(join(ROOT, file), 'utf8');
const write = (file, text) => writeFileSync(join(ROOT, file), text);
const run = (program, args, input = '') =>
  execFileSync(program, args, { cwd: ROOT, encoding: 'utf8', input, stdio: ['pipe', 'pipe', 'inherit'] });
const git = (...args) => run('git', args).trim();

function fail(message) {
  console.error(message);
  process.exit(1);
}

function checkTree(tag) {
  const branch = git('branch', '--show-current');
  if (branch !== 'main') fail(`The branch is ${branch || 'detached'}: a release is made on main.`);
  const changed = git('status', '--porcelain');
  if (changed !== '') fail(`The tree has changes; commit or remove them:\n${changed}`);
  if (git('tag', '--list', tag) !== '') fail(`The tag ${tag} exists: take the next version.`);
}

/** The kind of a version, by its step from the last release; "major" for the first release. */
function kindOf(version) {
  if (!/^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(version)) {
    fail(`"${version}" is no version of SemVer 2.0.0 for a release: give one such as 1.2.0.`);
  }
  const [last] = git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-v:refname').split('\n');
  if (last === '') return 'major';
  const [major, minor, patch] = last.slice(1).split('.').map(Number);
  const next = [`${major}.${minor}.${patch + 1}`, `${major}.${minor + 1}.0`, `${major + 1}.0.0`];
  const kind = KINDS[next.indexOf(version)];
  return kind ?? fail(`${version} is no step from ${last}: the next version is ${next.join(', ')}.`);
}

function unreleasedNotes() {
  const [, rest = ''] = read('CHANGELOG.md').split(UNRELEASED);
  const notes = rest.split(/^## \[/m)[0].trim();
  return /^- /m.test(notes) ? notes : fail('CHANGELOG.md has no line under "## [Unreleased]": say what is new.');
}

/** The breaking changes from the contract of the last release to the document that this tree serves. */
async function breaksOfContract() {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    const file = join(folder, 'openapi.json');
    run(process.execPath, ['scripts/openapi.js', file]);
    const options = { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } };
    const { code } = transformSync(read('test/openapi/breaking-changes.ts'), options);
    const { breakingChanges } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    return breakingChanges(JSON.parse(read(CONTRACT)), JSON.parse(readFileSync(file, 'utf8')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** SemVer: a break needs a major version, a feature a minor one. */
function requireKind(needed, reason) {
  if (KINDS.indexOf(kind) < KINDS.indexOf(needed)) fail(`This is no ${kind} version but a ${needed} one: ${reason}`);
}

/** Writes the files of the release, commits and tags. On a failure, it restores the tree. */
function writeRelease(version, tag, notes) {
  try {
    run('npm', ['version', version, '--no-git-tag-version', '--allow-same-version']);
    for (const [file, pattern] of Object.entries(VERSIONED)) write(file, read(file).replace(pattern, version));
    const heading = `${UNRELEASED}\n## [${version}] - ${new Date().toISOString().slice(0, 10)}\n`;
    write('CHANGELOG.md', read('CHANGELOG.md').replace(UNRELEASED, heading));
    run(process.execPath, ['scripts/openapi.js']);
    packProgram(ROOT);
    git('commit', '--quiet', '--all', '--message', `Release ${version}`);
  } catch (error) {
    git('restore', '--staged', '--worktree', '.');
    throw error;
  }
  // Lines with # are headings here, not comments.
  run('git', ['tag', '--annotate', '--cleanup=whitespace', '--file=-', tag], `Release ${version}\n\n${notes}\n`);
}

const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true });
const [version = ''] = positionals;
const tag = `v${version}`;
const kind = kindOf(version);
checkTree(tag);
const notes = unreleasedNotes();
if (/^### Removed$/m.test(notes)) requireKind('major', 'CHANGELOG.md has something under "Removed"');
if (/^### Added$/m.test(notes)) requireKind('minor', 'CHANGELOG.md has something under "Added"');
buildIfChanged();
const breaks = await breaksOfContract();
if (breaks.length > 0) requireKind('major', `the service breaks ${CONTRACT}:\n${breaks.join('\n')}`);
if (!values['dry-run']) writeRelease(version, tag, notes);
const state = values['dry-run']
  ? 'would be released; nothing was changed'
  : `is commit and tag ${tag}; nothing was pushed`;
console.log(`${notes}\n\n${version} ${state}.

git push origin main ${tag}
docker build -t cookie-storage-service:${version} -t cookie-storage-service:latest --build-arg REVISION=$(git rev-parse ${tag}^{}) --build-arg SOURCE=$(git remote get-url origin) .`);
