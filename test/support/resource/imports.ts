import { RESOURCES } from '../../../src/features.js';
import { recordReader } from '../../../src/cli/resources/record-lines.js';
import type { ResourceUnderTest } from './resource-under-test.js';

/** Tests the lines of an import. Does nothing for a resource that the command line does not know. */
export function describeImport(resource: ResourceUnderTest): void {
  const { name, contract } = resource;
  const { create, wrong } = contract;
  const declared = RESOURCES.find((each) => each.name.plural === name) ?? contract.resource;
  if (declared === undefined) return;
  const lineOf = (property: string, value: unknown): string =>
    JSON.stringify({ ...resource.next(create), [property]: value });

  it('an import accepts the lines that POST accepts, and rejects others with their pointer', async () => {
    const read = await recordReader(declared as never);
    await read(Buffer.from(JSON.stringify(resource.next(create))));
    for (const { pointer, value } of wrong) {
      const text = lineOf(pointer.split('/')[1]!, value);
      const error: unknown = await read(Buffer.from(text)).catch((reason: unknown) => reason);
      expect([text, error instanceof Error && error.message]).toEqual([
        text,
        expect.stringContaining(`"${pointer.slice(1)}" `),
      ]);
    }
  });
}
