import { PostgresServer, onServer } from '../dist/test/support/postgres/postgres-server.js';
import { load } from './compare.js';
import { Program } from './program.js';
import { limitPostgres, variants } from './variants.js';

const RECORDS = 1000;
const WARM_UP_SECONDS = 2;
const [service] = variants;

/** One and two replicas of the service against a program by hand, on one PostgreSQL server that makes every commit durable. */
export function onPostgres(operation, connections) {
  return async (stage, { rounds, seconds }) => {
    const server = await PostgresServer.create({ max_connections: '200' });
    const started = [];
    try {
      const start = async (variant, count) => {
        const programs = [];
        for (let i = 0; i < count; i++) {
          programs.push(await Program.start(variant, stage.folder, stage.secret, server.url()));
          started.push(programs.at(-1));
        }
        return programs;
      };
      // The service's own start makes the tables.
      const lanes = [
        { label: 'service', programs: await start(service, 1) },
        { label: 'limit-postgres', programs: await start(limitPostgres, 1) },
        { label: 'service, two replicas', programs: await start(service, 2) },
      ];
      await fill(server.url());
      return await inTurn(lanes, { operation, connections, rounds, seconds }, stage);
    } finally {
      await Promise.all(started.map((program) => program.stop()));
      await server.remove();
    }
  };
}

async function inTurn(lanes, { operation, connections, rounds, seconds }, stage) {
  for (const lane of lanes) {
    lane.samples = [];
    lane.rate = (await loadAll(lane, operation, connections, () => ({ seconds: WARM_UP_SECONDS }), stage)).rate;
  }
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < lanes.length; turn++) {
      const lane = lanes[(round + turn) % lanes.length];
      const amountFor = (each) => ({ amount: Math.max(1, Math.round((lane.rate * seconds) / connections)) * each });
      const sample = await loadAll(lane, operation, connections, amountFor, stage);
      lane.samples.push(sample);
      lane.rate = sample.rate;
      stage.progress(
        `${operation}-postgres ${round + 1}/${rounds} ${lane.label}: ${Math.round(sample.rate)} requests/s`,
      );
    }
  }
  return lanes.map(({ label, samples }) => ({ label, samples }));
}

/** The connections are shared out evenly, as a balancer would. */
async function loadAll({ label, programs }, operation, connections, until, stage) {
  const each = connections / programs.length;
  const samples = await Promise.all(
    programs.map((program) => load(program, { label, operation, records: RECORDS }, each, until(each), stage.token)),
  );
  const sum = (figure) => samples.reduce((total, sample) => total + sample[figure], 0);
  return {
    rate: sum('rate'),
    cost: samples.reduce((total, { cost, rate }) => total + cost * rate, 0) / sum('rate'),
    busy: sum('busy'),
    loadBusy: sum('loadBusy'),
    p99: Math.max(...samples.map(({ p99 }) => p99)),
  };
}

function fill(url) {
  return onServer(url, async (client) => {
    await client.query(`INSERT INTO cookies (flavor, size, wish, revision)
      SELECT 'vanilla', 'small', 'May your tests be green', n FROM generate_series(1, ${RECORDS}) AS n`);
    await client.query(`UPDATE storage SET used = ${RECORDS}, revision = ${RECORDS} WHERE resource = 'cookies'`);
  });
}
