import { rmSync } from 'node:fs';
import { loadedPackages, NOTING_PACKAGES } from './support/project/loaded-packages.js';
import { line, lines, run } from './support/command.js';
import { temporaryFolder } from './support/service.js';

/** What serves HTTP and describes it, and what no SQLite database needs: each takes tenths of a second to load. */
const OF_THE_SERVICE = [
  '@nestjs/core',
  '@nestjs/swagger',
  '@nestjs/typeorm',
  'class-validator',
  'cli-progress',
  'fastify',
  'pg',
  'pino-pretty',
  'rxjs',
];

describe('the packages that a command loads', () => {
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder();
    await run(folder, ['import'], { input: lines(3) });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function packagesOf(command: string, input?: string): Promise<string[]> {
    const { code, stderr } = await run(folder, command.split(' '), { environment: NOTING_PACKAGES, input });
    expect({ command, code, stderr }).toMatchObject({ code: 0 });
    return loadedPackages(folder);
  }

  it.each(['--help', '--version', 'export --help'])('are commander alone for %s', async (command) => {
    expect(await packagesOf(command)).toEqual(['commander']);
  });

  it('are commander and jose for token', async () => {
    expect(await packagesOf('token --sub alice')).toEqual(['commander', 'jose']);
  });

  it.each(['export', 'import', 'doctor', 'backup copy.sqlite', 'restore copy.sqlite'])(
    'are none of those that serve for %s on SQLite',
    async (command) => {
      const packages = await packagesOf(command, command === 'import' ? lines(1, 4) : undefined);
      expect(packages).toEqual(expect.arrayContaining(['commander', 'typeorm']));
      expect(packages.filter((name) => OF_THE_SERVICE.includes(name))).toEqual([]);
    },
  );

  it('are those that validate once an import has a line that the quick rules leave to the class', async () => {
    const outcome = await run(folder, ['import', '--ids', 'assign'], {
      environment: NOTING_PACKAGES,
      input: line({ wish: '🍪'.repeat(255) }),
    });
    expect(outcome).toMatchObject({ code: 0 });
    expect(loadedPackages(folder)).toContain('class-validator');
  });
});
