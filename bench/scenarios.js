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
const GET = { operation: 'get', what: 'GET of one record, 16 connections', connections: 16 };
const POST = { operation: 'post', what: 'durable POST, 64 connections', connections: 64 };

const lane = (variant, operation, records, more) => ({ label: variant.name, variant, operation, records, ...more });
const each = (variants, operation, records, more) => variants.map((one) => lane(one, operation, records, more));

/** A scenario on each engine that compares the service with the same service and another feature. */
const onBothEngines = (name, feature, { operation, what, connections }, others, figures) =>
  ['sqlite', 'postgres'].map((engine) => ({
    name: `${name}-${engine}`,
    what: `${feature} on ${engine}: ${what}`,
    connections,
    lanes: [lane(service, operation, RECORDS, { engine }), ...others.map((other) => ({ ...other, engine }))],
    figures: figures.map((figure) => ({ against: 'service', ...figure })),
  }));

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
  ...onBothEngines('limits', 'rate limits', GET, each([locallyLimited, jointlyLimited], 'get', RECORDS), [
    { figure: 'cost', of: locallyLimited.name },
    { figure: 'cost', of: jointlyLimited.name },
  ]),
  ...onBothEngines('rule', 'a rule', POST, each([ruledForAll, ruledForOne], 'post', RECORDS), [
    { figure: 'rate', of: ruledForAll.name, atLeast: 0.8 },
    { figure: 'rate', of: ruledForOne.name },
  ]),
  ...onBothEngines(
    'keyed',
    '`Idempotency-Key`',
    POST,
    [lane(service, 'keyed-post', RECORDS, { label: 'with a key' })],
    [
      { figure: 'cost', of: 'with a key' },
      { figure: 'rate', of: 'with a key' },
    ],
  ),
  ...onBothEngines('audited', 'the audit trail', POST, each([audited], 'post', RECORDS), [
    { figure: 'cost', of: audited.name },
    { figure: 'rate', of: audited.name },
  ]),
  ...[GET, POST].map(({ operation, what, connections }) => ({
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
    { ...GET, figure: 'cost' },
    { ...POST, figure: 'rate' },
  ].map(({ operation, what, connections, figure }) => ({
    name: `${operation}-postgres`,
    what: `PostgreSQL: ${what}`,
    connections,
    lanes: each([service, byHand], operation, RECORDS, { engine: 'postgres' }),
    figures: [{ figure, of: 'service', against: 'by hand' }],
  })),
].map((scenario) => ({ run: (...args) => (scenario.compare ?? compare)(scenario, ...args), ...scenario }));
