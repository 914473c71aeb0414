import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESOURCES } from '../../../src/features.js';
import { RecordReader } from '../../../src/cli/resources/record-lines.js';
import { run } from '../command.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Maximum number of lines that the command names. */
const MOST_NAMED = 20;

/** Tests the lines of an import. Does nothing for a resource that the command line does not know. */
export function describeImport(resource: ResourceUnderTest): void {
  const { name, contract } = resource;
  const { create, wrong } = contract;
  const listed = RESOURCES.find((each) => each.name.plural === name);
  const declared = listed ?? contract.resource;
  if (declared === undefined) return;
  const lineOf = (property: string, value: unknown): string =>
    JSON.stringify({ ...resource.next(create), [property]: value });

  it('an import accepts the lines that POST accepts, and rejects others with their pointer', async () => {
    const reader = await RecordReader.of(declared as never);
    await reader.read(Buffer.from(JSON.stringify(resource.next(create))));
    for (const { pointer, value } of wrong) {
      const text = lineOf(pointer.split('/')[1]!, value);
      const error: unknown = await reader.read(Buffer.from(text)).catch((reason: unknown) => reason);
      expect([text, error instanceof Error && error.message]).toEqual([
        text,
        expect.stringContaining(`"${pointer.slice(1)}" `),
      ]);
    }
  });

  (listed === undefined ? it.skip : it)('import names each wrong line, and stores nothing', async () => {
    await resource.empty();
    const lines = wrong.slice(0, MOST_NAMED).map(({ pointer, value }) => lineOf(pointer.split('/')[1]!, value));
    const { folder } = resource.service;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'wrong.ndjson'), `${lines.join('\n')}\n`);
    const { code, stderr } = await run(folder, ['import', name, 'wrong.ndjson']);
    const named = Array.from(stderr.matchAll(/^Line (\d+) is wrong: "([^"]+)"/gm), ([, line, at]) => [
      Number(line),
      `/${at}`,
    ]);
    expect({ code, named }).toEqual({ code: 1, named: lines.map((_, index) => [index + 1, wrong[index]!.pointer]) });
    expect((await resource.get(resource.path)).body).toEqual([]);
  });
}
