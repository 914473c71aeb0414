import fc from 'fast-check';
import { AggregatorRegistry, Histogram, Registry } from 'prom-client';
import { DurationHistogram } from './duration-histogram.js';

const NAME = 'request_seconds';
const HELP = 'Time of a "request"\nin seconds';
const BUCKETS = [0.0005, 0.25, 1, 10];
const LABELS = [
  { method: 'GET', route: '/orders/:id', status: 200 },
  { method: 'POST', route: '/a"b\\c\n', status: 'none' },
];

/** The durations observed in a histogram of prom-client, and in this one. */
function both(durations: readonly (readonly [index: number, seconds: number])[]): readonly [Registry, Registry] {
  const [theirs, ours] = [new Registry(), new Registry()];
  const histogram = new Histogram({
    ...{ name: NAME, help: HELP, buckets: BUCKETS },
    labelNames: ['method', 'route', 'status'],
    registers: [theirs],
  });
  const own = new DurationHistogram({ name: NAME, help: HELP, buckets: BUCKETS, registry: ours });
  const series = LABELS.map((labels) => own.series(labels));
  for (const [index, seconds] of durations) {
    histogram.observe(LABELS[index]!, seconds);
    series[index]!.observe(seconds);
  }
  return [theirs, ours];
}

const seconds = fc.oneof(fc.constantFrom(0, ...BUCKETS), fc.double({ min: 0, max: 100, noNaN: true }));
const observations = fc.array(fc.tuple(fc.integer({ min: 0, max: LABELS.length - 1 }), seconds));

describe('DurationHistogram', () => {
  it('is scraped as the histogram of prom-client is, to the byte, before and after its observations', async () => {
    const check = fc.asyncProperty(observations, async (durations) => {
      const [theirs, ours] = both(durations);
      expect(await ours.metrics()).toBe(await theirs.metrics());
    });
    await fc.assert(check, { numRuns: 200 });
  });

  it('adds up over processes as the histogram of prom-client does', async () => {
    const check = fc.asyncProperty(observations, observations, async (one, other) => {
      const [theirs, ours] = [0, 1].map(async (which) => {
        const figures = await Promise.all([one, other].map((each) => both(each)[which]!.getMetricsAsJSON()));
        return AggregatorRegistry.aggregate(figures).metrics();
      });
      expect(await ours).toBe(await theirs);
    });
    await fc.assert(check, { numRuns: 50 });
  });
});
