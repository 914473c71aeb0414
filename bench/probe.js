import { isDeepStrictEqual } from 'node:util';
import { probes } from './operations.js';
import { byHand, service } from './programs.js';

/** Header fields whose values differ between two correct responses. */
const OWN_FIELDS = ['date', 'etag', 'location', 'x-request-id', 'connection', 'keep-alive'];

/** Checks that the handwritten program responds like the service. Otherwise it might do less work. */
export async function probe(stage) {
  stage.progress('comparing the responses of the program by hand with those of the service');
  const programs = [await stage.start(service, 3), await stage.start(byHand, 3)];
  try {
    for (const request of probes) {
      const [expected, given] = await Promise.all(programs.map((program) => send(program, request, stage.token)));
      if (isDeepStrictEqual(given, expected)) continue;
      const both = JSON.stringify({ [service.name]: expected, [byHand.name]: given }, null, 2);
      throw new Error(`The responses to ${request.method} ${request.path} differ:\n${both}`);
    }
  } finally {
    await Promise.all(programs.map((program) => program.stop()));
  }
}

/** The part of a response that must be equal. */
async function send(program, { method, path, body, headers }, token) {
  const response = await globalThis.fetch(program.url + path, {
    method,
    body: body && JSON.stringify(body),
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
  });
  const { status } = response;
  const text = await response.text();
  if (status >= 400) return { status };
  const fields = [...response.headers].map(([name, value]) => (OWN_FIELDS.includes(name) ? [name] : [name, value]));
  return { status, fields, body: JSON.parse(text) };
}
