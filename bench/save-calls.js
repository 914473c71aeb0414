import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { nodeOn } from './cores.js';

const SOURCES = { stock: 'TypeORM stock', service: 'service' };
const CALLERS = [1, 64];
/** Seconds before the measurement: by then V8 has compiled what a call takes. */
const WARM_UP = 5;

/** `repository.save()` on TypeORM's own driver and on the service's, each in a process of its own (save.js), in turn. */
export async function saveCalls(stage, { rounds, seconds }) {
  const folder = join(stage.folder, 'save');
  mkdirSync(folder);
  const programs = Object.entries(SOURCES).map(([source, name]) => ({ name, program: start(source, folder) }));
  const lanes = programs.flatMap(({ name, program }) =>
    CALLERS.map((callers) => ({ label: `${name}, ${callers} callers`, program, callers, samples: [] })),
  );
  try {
    for (const { program } of programs) await sample(program, Math.max(...CALLERS), WARM_UP);
    for (let round = 0; round < rounds; round++) {
      for (let turn = 0; turn < lanes.length; turn++) {
        const { program, callers, samples } = lanes[(round + turn) % lanes.length];
        samples.push(await sample(program, callers, seconds));
      }
      stage.progress(`save: round ${round + 1}/${rounds}`);
    }
  } finally {
    for (const { program } of programs) if (program.connected) program.disconnect();
  }
  return lanes.map(({ label, samples }) => ({ label, samples }));
}

function start(source, folder) {
  const [command, args] = nodeOn('server', [join(import.meta.dirname, 'save.js'), source, folder]);
  return spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** @throws when the program ends before it responds */
async function sample(program, callers, seconds) {
  const ended = new globalThis.AbortController();
  const onExit = () => ended.abort(new Error(`${program.spawnargs.join(' ')} has ended`));
  program.once('exit', onExit);
  if (program.exitCode !== null) onExit();
  program.send({ callers, seconds });
  const [result] = await once(program, 'message', { signal: ended.signal });
  program.off('exit', onExit);
  return result;
}
