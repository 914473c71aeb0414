import { setTimeout as sleep } from 'node:timers/promises';
import { privateMemory } from './usage.js';
import { variants } from './variants.js';

/** Starts every variant on an empty storage, in turn; a first start of each, not counted, fills the file cache. */
export async function starts(stage, { rounds }) {
  const rows = variants.map((variant) => ({ label: variant.name, variant, samples: [] }));
  for (let round = 0; round <= rounds; round++) {
    for (const { label, variant, samples } of rows) {
      const program = await stage.start(variant, 0);
      await sleep(500);
      const memory = privateMemory(program.pid);
      await program.stop();
      if (round === 0) continue;
      samples.push({ milliseconds: program.startTime, memory });
      stage.progress(`start ${round}/${rounds} ${label}: ${program.startTime.toFixed(0)} ms`);
    }
  }
  return rows.map(({ label, samples }) => ({ label, samples }));
}
