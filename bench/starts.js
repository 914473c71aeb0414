import { variants } from './variants.js';

/** Starts every variant on an empty storage, in turn; a first start of each, not counted, fills the file cache. */
export async function starts(stage, { rounds }) {
  const rows = variants.map((variant) => ({ label: variant.name, variant, samples: [] }));
  for (let round = 0; round <= rounds; round++) {
    for (const { label, variant, samples } of rows) {
      const program = await stage.start(variant, 0);
      await program.stop();
      if (round === 0) continue;
      samples.push({ milliseconds: program.startTime });
      stage.progress(`start ${round}/${rounds} ${label}: ${program.startTime.toFixed(0)} ms`);
    }
  }
  return rows.map(({ label, samples }) => ({ label, samples }));
}
