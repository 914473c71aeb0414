import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Ended, ProjectCopy } from '../support/project/project-copy.js';

const ROOT = join(import.meta.dirname, '../..');
const FILES = [
  ...['CHANGELOG.md', 'Dockerfile', 'package-lock.json', '.gitignore', '.npmrc', 'docs/openapi.json', 'deploy'],
];
const NOTES = '### Added\n\n- `/cakes`.\n\n### Fixed\n\n- A cake # 2.';
const CHANGELOG = `# Changelog\n\n## [Unreleased]\n\n${NOTES}\n`;

/** Each test makes or rejects the next release of one repository, so the order matters. */
describe('npm run release', () => {
  let copy: ProjectCopy;

  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: copy.folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  const commit = (): string => git('commit', '--quiet', '--all', '--message', 'Change');
  const read = (file: string): string => readFileSync(join(copy.folder, file), 'utf8');
  const write = (file: string, text: string): void => writeFileSync(join(copy.folder, file), text);
  const release = (...args: string[]): Promise<Ended> => copy.node('scripts/release.js', ...args);
  const state = (): string[] => [git('rev-parse', 'HEAD'), git('status', '--porcelain'), git('tag', '--list')];

  /** Expects an error, and that nothing has changed. */
  async function expectRejected(version: string, message: RegExp): Promise<void> {
    const before = state();
    expect(await release(version)).toEqual({ status: 1, stdout: '', stderr: expect.stringMatching(message) as string });
    expect(state()).toEqual(before);
  }

  beforeAll(() => {
    copy = new ProjectCopy();
    for (const file of FILES) {
      cpSync(join(ROOT, file), join(copy.folder, file), { recursive: true, preserveTimestamps: true });
    }
    write('CHANGELOG.md', CHANGELOG);
    // Prevents a new build, because only versions change.
    const tomorrow = Date.now() / 1000 + 86_400;
    utimesSync(join(copy.folder, 'dist/.built'), tomorrow, tomorrow);
    git('init', '--quiet', '--initial-branch', 'main');
    appendFileSync(join(copy.folder, '.git/info/exclude'), 'node_modules\n');
    git('config', 'user.name', 'Maintainer');
    git('config', 'user.email', 'maintainer@example.com');
    git('add', '--all');
    commit();
  });

  it('prints the notes with --dry-run and changes nothing', async () => {
    const before = state();
    const { status, stdout } = await release('2.0.0', '--dry-run');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(NOTES) as string });
    expect(state()).toEqual(before);
  });

  it('makes commit and annotated tag, and writes the version into every file that has it', async () => {
    const { status, stdout } = await release('2.0.0');
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining(NOTES) as string });
    expect(stdout).toContain('docker build -t cookie-storage-service:2.0.0 ');
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '-1', '--format=%s')).toBe('Release 2.0.0');
    expect(git('cat-file', '-t', 'v2.0.0')).toBe('tag');
    expect(git('for-each-ref', '--format=%(contents)', 'refs/tags/v2.0.0')).toBe(`Release 2.0.0\n\n${NOTES}`);
    const today = new Date().toISOString().slice(0, 10);
    expect(read('CHANGELOG.md')).toBe(CHANGELOG.replace(']\n', `]\n\n## [2.0.0] - ${today}\n`));
    expect(JSON.parse(read('package.json'))).toMatchObject({ version: '2.0.0' });
    expect(JSON.parse(read('package-lock.json'))).toMatchObject({
      version: '2.0.0',
      packages: { '': { version: '2.0.0' } },
    });
    expect(JSON.parse(read('docs/openapi.json'))).toMatchObject({ info: { version: '2.0.0' } });
    expect(read('Dockerfile')).toContain('\nARG VERSION=2.0.0\n');
    expect(read('deploy/kubernetes/base/kustomization.yaml')).toContain('newTag: 2.0.0\n');
    const changed = git('show', '--format=', '--name-only', 'HEAD').split('\n');
    expect(changed).toContain('test/project/released-program.json.br');
    for (const program of ['src/main.js', 'src/cli/main.js']) {
      expect(await copy.node(join('dist', program), '--version')).toMatchObject({ stdout: '2.0.0\n' });
    }
  });

  it('rejects a release without a line under "Unreleased"', () =>
    expectRejected('2.0.1', /no line under "## \[Unreleased\]"/));

  it.each([
    ['2.01.0', /"2\.01\.0" is no version of SemVer/],
    ['2.0.0', /2\.0\.0 is no step from v2\.0\.0: the next version is 2\.0\.1, 2\.1\.0, 3\.0\.0\./],
  ])('rejects the version %s after 2.0.0', expectRejected);

  it('rejects a tree with changes, and another branch', async () => {
    write('CHANGELOG.md', read('CHANGELOG.md').replace(']\n', `]\n\n${NOTES}\n`));
    await expectRejected('2.1.0', /^The tree has changes; commit or remove them:\nM CHANGELOG\.md\n$/);
    commit();
    git('switch', '--quiet', '--create', 'other');
    await expectRejected('2.1.0', /^The branch is other: a release is made on main\.\n$/);
    git('switch', '--quiet', 'main');
  });

  it('rejects a patch version with features, and a minor one that breaks clients', async () => {
    await expectRejected('2.0.1', /^This is no patch version but a minor one: .* "Added"\n$/);
    const contract = JSON.parse(read('docs/openapi.json'));
    contract.paths['/cakes'] = contract.paths['/cookies'];
    write('docs/openapi.json', JSON.stringify(contract));
    commit();
    await expectRejected('2.1.0', /^This is no minor version but a major one: .*\nGET \/cakes is gone: /);
  });

  it('leaves the tree as it was when a step fails', async () => {
    // The program of the release cannot be packed after the other files have the version.
    write('dist/src/a.js', 'no JavaScript');
    await expectRejected('3.0.0', /Syntax Error/);
  });
});
