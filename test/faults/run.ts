/**
 * Makes every fault many times over while clients write, and checks the result.
 *
 *   npm run faults                         every fault
 *   npm run faults -- killed disk-full     some of them
 *   npm run faults -- killed --times 200
 *   npm run faults -- two-services --seconds 600
 *   npm run faults -- hostile-clients --seconds 60 --attacks slow-headers,idle-connections
 *
 * The counts go to stdout, one line for each fault; ends with 1 when a check fails.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { SmallVolume } from '../support/faults/small-volume.js';
import { canRunAsOrdinaryUser } from '../support/ordinary-user.js';
import { ATTACKS } from './attacks.js';
import type { Fault } from './fault.js';
import { diskFull } from './full.js';
import { hostileClients } from './hostile-clients.js';
import { killed, killedBesideAnother, replicaKilled } from './killed.js';
import { otherWriters } from './other-writers.js';
import { postgresKilled, standbyPromoted } from './postgres.js';
import { fileReadOnly } from './read-only.js';
import { stopped } from './stopped.js';
import { twoServices } from './two-services.js';
import { yearOfCluster, yearOnSqlite } from './year.js';

const FAULTS: Record<string, { fault: Fault; times: number; impossible?: string }> = {
  killed: { fault: killed, times: 50 },
  'killed-beside-another': { fault: killedBesideAnother, times: 10 },
  'two-services': { fault: twoServices, times: 1 },
  'other-writers': { fault: otherWriters, times: 10 },
  stopped: { fault: stopped(), times: 20 },
  'disk-full': {
    fault: diskFull,
    times: 10,
    impossible: SmallVolume.mountable ? undefined : 'this user may not mount a volume',
  },
  'file-read-only': {
    fault: fileReadOnly,
    times: 5,
    impossible: canRunAsOrdinaryUser() ? undefined : 'only root may enter this folder',
  },
  'postgres-killed': { fault: postgresKilled, times: 10 },
  'replica-killed': { fault: replicaKilled, times: 10 },
  'standby-promoted': { fault: standbyPromoted, times: 3 },
  'year-sqlite': { fault: yearOnSqlite(1), times: 1, impossible: yearNeeds() },
  'year-workers': { fault: yearOnSqlite(2), times: 1, impossible: yearNeeds() },
  'year-cluster': { fault: yearOfCluster, times: 1, impossible: yearNeeds() },
  'hostile-clients': { fault: hostileClients, times: 1 },
};

/** @returns the missing requirement */
function yearNeeds(): string | undefined {
  if (!SmallVolume.mountable) return 'this user may not mount a volume';
  const missing = ['prometheus', 'haproxy'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
  return missing.length === 0 ? undefined : `${missing.join(' and ')} must be installed`;
}

const USAGE = `npm run faults -- [--times <number>] [--seconds <number>] [--attacks <name>,...] [<fault>...]
The faults: ${Object.keys(FAULTS).join(', ')}
The attacks of hostile-clients: ${ATTACKS.map(({ name }) => name).join(', ')}`;

function readArguments() {
  try {
    const text = { type: 'string' } as const;
    const options = { times: text, seconds: text, attacks: text } as const;
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    for (const name of ['times', 'seconds'] as const) {
      if (!/^[1-9]\d{0,4}$/.test(values[name] ?? '1')) throw new Error(`--${name} must be a number from 1 to 99999`);
    }
    const unknown = positionals.find((name) => !(name in FAULTS));
    if (unknown !== undefined) throw new Error(`There is no fault ${unknown}`);
    return { ...values, faults: positionals };
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    return process.exit(2);
  }
}

const { faults, ...values } = readArguments();

// The end of the program ends started processes and unmounts volumes.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

for (const [name, { fault, times, impossible }] of Object.entries(FAULTS)) {
  if (faults.length > 0 && !faults.includes(name)) continue;
  if (impossible !== undefined) {
    console.log(`${name}: SKIPPED, ${impossible}`);
    continue;
  }
  const run = {
    times: Number(values.times ?? times),
    seconds: values.seconds === undefined ? undefined : Number(values.seconds),
    attacks: values.attacks?.split(','),
    report: (text: string) => console.log(text),
  };
  try {
    const counts = Object.entries(await fault(run)).map(([what, count]) => `${what} ${count}`);
    console.log(`${name}: ${run.times} times, ${counts.join(', ')}`);
  } catch (error) {
    console.log(`${name}: FAILED, ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
