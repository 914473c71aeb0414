import { changedLine } from './changed-line.js';
import { compareTraced } from './collector.js';
import { compare } from './compare.js';
import {
  audited,
  byHand,
  jointlyLimited,
  locallyLimited,
  ruledForAll,
  ruledForOne,
  service,
  stockNest,
  traced,
} from './programs.js';
import { starts } from './starts.js';

const RECORDS = 1000;
const MANY = 10_000;

const lane = (variant, operation, records, more) => ({ label: variant.name, variant, operation, records, ...more });
const each = (variants, operation, records, more) => variants.map((one) => lane(one, operation, records, more));

/**
 * The scenarios in order. `run` returns samples by lane, one for each round. A figure is the `figure` of lane `of`, or
 * its ratio to lane `against` in the same round. `atMost` or `atLeast` is its target.
 */
export const scenarios = [
  {
    name: 'get',
    what: 'GET of one record, 16 connections',
    connections: 16,
    lanes: each([service, byHand, stockNest], 'get', RECORDS),
    figures: [
      { figure: 'cost', of: 'service', against: 'by hand', atMost: 1.3 },
      { figure: 'cost', of: 'service', against: 'stock Nest' },
    ],
  },
  {
    name: 'post',
    what: 'durable POST, 64 connections',
    connections: 64,
    lanes: each([service, byHand, stockNest], 'post', RECORDS),
    figures: [
      { figure: 'cost', of: 'service', against: 'by hand', atMost: 1.3 },
      { figure: 'rate', of: 'service', against: 'stock Nest', atLeast: 10 },
    ],
  },
  {
    name: 'list',
    what: 'GET of a list of 10 000 that does not change, 16 connections',
    connections: 16,
    lanes: each([service, byHand], 'list', MANY),
    figures: [{ figure: 'cost', of: 'service', against: 'by hand', atMost: 0.1 }],
  },
  {
    name: 'unchanged',
    what: '304 to a list of 10 000, 64 connections',
    connections: 64,
    lanes: [
      lane(service, 'unchanged', MANY),
      lane(service, 'get', MANY, { label: 'GET of one record' }),
      lane(byHand, 'unchanged', MANY),
    ],
    figures: [
      { figure: 'cost', of: 'service', against: 'GET of one record', atMost: 1.05 },
      { figure: 'cost', of: 'service', against: 'by hand' },
    ],
  },
  ...['sqlite', 'postgres'].map((engine) => ({
    name: `limits-${engine}`,
    what: `rate limits on ${engine}: GET of one record, 16 connections`,
    connections: 16,
    lanes: each([service, locallyLimited, jointlyLimited], 'get', RECORDS, { engine }),
    figures: [locallyLimited, jointlyLimited].map(({ name }) => ({ figure: 'cost', of: name, against: 'service' })),
  })),
  ...['sqlite', 'postgres'].map((engine) => ({
    name: `rule-${engine}`,
    what: `a rule on ${engine}: durable POST, 64 connections`,
    connections: 64,
    lanes: each([service, ruledForAll, ruledForOne], 'post', RECORDS, { engine }),
    figures: [
      { figure: 'rate', of: ruledForAll.name, against: 'service', atLeast: 0.8 },
      { figure: 'rate', of: ruledForOne.name, against: 'service' },
    ],
  })),
  ...['sqlite', 'postgres'].map((engine) => ({
    name: `keyed-${engine}`,
    what: `\`Idempotency-Key\` on ${engine}: durable POST, 64 connections`,
    connections: 64,
    lanes: [
      lane(service, 'post', RECORDS, { engine }),
      lane(service, 'keyed-post', RECORDS, { engine, label: 'with a key' }),
    ],
    figures: [
      { figure: 'cost', of: 'with a key', against: 'service' },
      { figure: 'rate', of: 'with a key', against: 'service' },
    ],
  })),
  ...['sqlite', 'postgres'].map((engine) => ({
    name: `audited-${engine}`,
    what: `the audit trail on ${engine}: durable POST, 64 connections`,
    connections: 64,
    lanes: each([service, audited], 'post', RECORDS, { engine }),
    figures: [
      { figure: 'cost', of: audited.name, against: 'service' },
      { figure: 'rate', of: audited.name, against: 'service' },
    ],
  })),
  ...[
    ['get', 'GET of one record, 16 connections', 16],
    ['post', 'durable POST, 64 connections', 64],
  ].map(([operation, what, connections]) => ({
    name: `traced-${operation}`,
    what: `traces: ${what}`,
    connections,
    lanes: each([service, ...traced], operation, RECORDS),
    figures: traced.map(({ name }) => ({ figure: 'cost', of: name, against: 'service' })),
    compare: compareTraced,
  })),
  {
    name: 'start',
    what: 'start until ready, built, files cached; half a second later its memory',
    run: starts([service, stockNest]),
    figures: [
      { figure: 'seconds', of: 'service', atMost: 1 },
      { figure: 'seconds', of: 'service', against: 'stock Nest' },
      { figure: 'memory', of: 'service', atMost: 95 },
      { figure: 'memory', of: 'service', against: 'stock Nest' },
    ],
  },
  {
    name: 'changed-line',
    what: '`npm run start:dev`: from a changed line to the service with that line',
    run: changedLine,
    figures: [{ figure: 'seconds', of: 'service', atMost: 3 }],
  },
  ...[
    ['get', 'GET of one record, 16 connections', 16, 'cost'],
    ['post', 'durable POST, 64 connections', 64, 'rate'],
  ].map(([operation, what, connections, figure]) => ({
    name: `${operation}-postgres`,
    what: `PostgreSQL: ${what}`,
    connections,
    lanes: each([service, byHand], operation, RECORDS, { engine: 'postgres' }),
    figures: [{ figure, of: 'service', against: 'by hand' }],
  })),
].map((scenario) => ({ run: (...args) => (scenario.compare ?? compare)(scenario, ...args), ...scenario }));
