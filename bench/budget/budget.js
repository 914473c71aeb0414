import { cpSync } from 'node:fs';
import { load } from '../compare.js';
import { Program } from '../program.js';
import { variants } from '../variants.js';
import { BY_HAND, PARTS } from './parts.js';

const RECORDS = 1000;
/** Seconds of load before the measurement. */
const WARM_UP = 3;
/** A part is a difference of two figures: many short rounds, of so many seconds, tell more than a few long ones. */
const ROUNDS_FOR_ONE = 2;
const SHORT = 0.4;

const SERVICE = 'bench/budget/service.js';
const CONSTANT = 'bench/budget/constant.js';
const HAND = 'bench/budget/by-hand.js';
const [service] = variants;
const names = PARTS.map(({ name }) => name);

/** The same for both: each is without one part more than the one before, and has the part that it is named after. */
const shared = [
  { part: 'router: Fastify', program: CONSTANT, args: ['fastify'] },
  { part: 'parser', program: CONSTANT, args: ['node'] },
  { part: 'socket', program: CONSTANT, args: ['net'] },
];
const ladders = {
  service: [
    ...names
      .slice(0, names.indexOf('hooks') + 1)
      .map((part, index) => ({ part, program: SERVICE, args: names.slice(0, index), storedBy: service })),
    { part: 'router: Nest', program: CONSTANT, args: ['nest'] },
    ...shared,
  ],
  'by hand': [
    ...[...BY_HAND, 'hooks'].map((part, index) => ({ part, program: HAND, args: BY_HAND.slice(0, index) })),
    ...shared,
  ],
};

/**
 * What each part of the way of a request costs: programs with one part less each, all in turn in every round. A part is the
 * difference of two lower quartiles: what disturbs a machine only ever adds to the time of a request.
 * @returns a lane for each part that `service` or `by hand` has, with the costs of the program that still has it
 */
export function budget(operation, connections) {
  return async (stage, { rounds, seconds }) => {
    const programs = await start(stage);
    const turns = rounds * ROUNDS_FOR_ONE;
    try {
      for (const each of programs) {
        each.rate = (await sample(each, operation, connections, { seconds: WARM_UP }, stage)).rate;
      }
      for (let round = 1; round <= turns; round++) {
        for (let turn = 0; turn < programs.length; turn++) {
          const each = programs[(round + turn) % programs.length];
          const amount = Math.max(1, Math.round((each.rate * Math.min(seconds, SHORT)) / connections)) * connections;
          each.samples.push(await sample(each, operation, connections, { amount, warmUp: amount }, stage));
        }
        stage.progress(`budget of ${operation}, ${connections} at once: round ${round}/${turns}`);
      }
      return lanesOf(programs);
    } finally {
      await Promise.all(programs.map(({ program }) => program.stop()));
    }
  };
}

async function start(stage) {
  const programs = [];
  const steps = new Set(Object.values(ladders).flat());
  for (const { part, program, args, storedBy } of steps) {
    const variant = { name: ['budget', ...args].join('-').replaceAll(/[^a-z-]+/g, '-'), program, args };
    const folder = stage.emptyFolder();
    if (storedBy !== undefined) cpSync(await stage.storage(storedBy, RECORDS), folder, { recursive: true });
    else if (program === HAND) cpSync(await stage.storage(variants[1], RECORDS), folder, { recursive: true });
    programs.push({
      part,
      args,
      path: program,
      program: await Program.start(variant, folder, stage.secret),
      samples: [],
    });
  }
  return programs;
}

function sample({ part, program }, operation, connections, until, stage) {
  return load(program, { label: `budget, ${part}`, operation, records: RECORDS }, connections, until, stage.token);
}

function lanesOf(programs) {
  return Object.entries(ladders).flatMap(([label, steps]) => {
    const samplesOf = steps.map(({ program, args }) => {
      return programs.find((one) => one.path === program && one.args === args).samples;
    });
    return steps.map(({ part }, index) => {
      const rest = samplesOf[index + 1];
      const own = lowerQuartile(samplesOf[index]) - (rest === undefined ? 0 : lowerQuartile(rest));
      return { label, part, own, samples: samplesOf[index] };
    });
  });
}

function lowerQuartile(samples) {
  const sorted = samples.map(({ cost }) => cost).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 4)];
}
