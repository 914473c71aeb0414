/**
 * Draws one durable POST among 64 clients as a collector of OpenTelemetry sees it: `node bench/trace-picture.js` after
 * `npm run build && npx tsc -p bench`. The SVG goes to stdout.
 */
import { Collector } from '../dist/test/tracing/collector.js';
import { load } from './compare.js';
import { service } from './programs.js';
import { Stage } from './stage.js';

const SECONDS = 6;
/** The share of traced requests. The SDK could not send the spans of all requests in time. */
const SHARE = 0.02;
const [WIDTH, LABEL, ROW] = [960, 250, 34];

async function spansOfPosts() {
  const collector = await Collector.start();
  const stage = new Stage((line) => console.error(line));
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: String(SHARE),
  };
  try {
    await stage.makeToken();
    const lane = { label: 'service', variant: { ...service, environment }, operation: 'post', records: 1000 };
    await load(await stage.program(lane), lane, 64, { seconds: SECONDS }, stage.token);
  } finally {
    // The service sends its last spans when it ends.
    await stage.close();
    await collector[Symbol.asyncDispose]();
  }
  return collector.spans;
}

const start = (span) => Number(BigInt(span.startTimeUnixNano) / 1000n);
const milliseconds = (span) => Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;

function groupsOf(spans) {
  const traces = new Map(spans.map(({ traceId }) => [traceId, []]));
  for (const span of spans) traces.get(span.traceId).push(span);
  return [...traces.values()];
}

/** The trace of median length among the traces that contain the transaction and the commit of their batch. */
function medianTrace(spans) {
  const traces = groupsOf(spans)
    .filter((trace) => ['POST /cookies', 'transaction', 'commit'].every((name) => trace.some((s) => s.name === name)))
    .map((trace) => trace.sort((one, other) => start(one) - start(other)))
    .sort(([one], [other]) => milliseconds(one) - milliseconds(other));
  return traces[Math.floor(traces.length / 2)];
}

function rowOf(span, index, [root]) {
  const scale = (WIDTH - LABEL - 90) / milliseconds(root);
  const x = LABEL + ((start(span) - start(root)) / 1000) * scale;
  const width = Math.max(milliseconds(span) * scale, 2);
  const y = 40 + index * ROW;
  const facts = Object.entries(span.attributes).filter(([key]) => /^(batch|commit)\./.test(key));
  const text = facts.map(([key, value]) => `${key} ${Number(value.toFixed(2))}`);
  return `<text x="12" y="${y + 14}">${span.name}</text>
<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="18" rx="3" fill="#295fa6"/>
<text x="${(x + width + 6).toFixed(1)}" y="${y + 14}">${milliseconds(span).toFixed(2)} ms</text>
<text x="12" y="${y + 28}" font-size="10" fill="#667">${text.join(', ')}</text>`;
}

const trace = medianTrace(await spansOfPosts());
console.log(`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${50 + trace.length * ROW}" font-family="sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
<text x="12" y="22" font-weight="600">One durable POST of 64 clients on SQLite, as the collector saw it</text>
${trace.map(rowOf).join('\n')}
</svg>`);
