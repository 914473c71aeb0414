import { setTimeout as sleep } from 'node:timers/promises';
import { privateMemory } from './usage.js';

/** Starts programs in turn. The first start of each fills the file cache and is not counted. */
export const starts =
  (variants) =>
  async (stage, { rounds }) => {
    const lanes = variants.map((variant) => ({ label: variant.name, variant, samples: [] }));
    for (let round = 0; round <= rounds; round++) {
      for (const { label, variant, samples } of lanes) {
        const program = await stage.start(variant, 0);
        await sleep(500);
        const memory = privateMemory(program.pid);
        await program.stop();
        if (round > 0) samples.push({ seconds: program.startSeconds, memory });
        stage.progress(`start ${round}/${rounds} ${label}: ${program.startSeconds.toFixed(2)} s`);
      }
    }
    return lanes;
  };
