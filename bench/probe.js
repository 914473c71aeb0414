import { isDeepStrictEqual } from 'node:util';
import { probes } from './operations.js';
import { variants } from './variants.js';

/** Fields that two right answers need not have in common. */
const OWN_FIELDS = ['content-length', 'transfer-encoding', 'date', 'etag', 'x-request-id', 'connection', 'keep-alive'];

/** Sees that the programs which claim to answer like the first do. */
export async function probe(stage) {
  const programs = [];
  for (const variant of variants.filter(({ answersAlike }, index) => index === 0 || answersAlike)) {
    programs.push(await stage.start(variant, 3));
  }
  try {
    const [first, ...others] = programs;
    for (const request of probes) {
      const expected = await send(first, request, stage.token);
      for (const program of others) {
        const answer = await send(program, request, stage.token);
        if (isDeepStrictEqual(answer, expected)) continue;
        const both = JSON.stringify({ [first.variant.name]: expected, [program.variant.name]: answer }, null, 2);
        throw new Error(`The answers to ${request.method} ${request.path} differ:\n${both}`);
      }
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
  }
}

/** An answer as far as two programs can have it in common. */
async function send(program, { method, path, body, headers }, token) {
  const response = await globalThis.fetch(program.url + path, {
    method,
    body: body && JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
  });
  const text = await response.text();
  const { requestId, ...rest } = text === '' ? {} : JSON.parse(text);
  const fields = [...response.headers].filter(([name]) => !OWN_FIELDS.includes(name));
  const hasEtag = response.headers.has('etag');
  return { status: response.status, fields, hasEtag, body: rest, hasRequestId: requestId !== undefined };
}
