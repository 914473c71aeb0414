import 'reflect-metadata';
import fc from 'fast-check';
import { ImportedDto } from '../resource/lines/imported-dto.js';
import { RecordReader } from '../resource/lines/record-reader.js';
import { COOKIES } from './cookie.resource.js';
import { FLAVORS, SIZES } from './cookie.values.js';
import { CreateCookieDto } from './dto/create-cookie.dto.js';

const reader = await RecordReader.of(COOKIES);
const dto = new ImportedDto(CreateCookieDto);

/** Right values and such as are nearly right. */
const cookies = fc.record(
  {
    id: fc.oneof(fc.integer({ min: -1, max: 3 }), fc.constantFrom(2 ** 53 - 1, 2 ** 53, 1.5, '1', null)),
    flavor: fc.oneof(fc.constantFrom(...FLAVORS), fc.constantFrom('Vanilla', '', null, 1, ['vanilla'])),
    size: fc.oneof(fc.constantFrom(...SIZES), fc.constantFrom('small ', {}, true)),
    wish: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 260 }),
      fc.constantFrom('', '\0', '\ud800', 'x'.repeat(255), 'x'.repeat(256), '🍪'.repeat(255), '🍪'.repeat(256), 7),
    ),
    other: fc.constantFrom(1),
  },
  { requiredKeys: ['flavor', 'size', 'wish'] },
);

async function passes(check: () => unknown): Promise<boolean> {
  try {
    return (await check()) !== false;
  } catch {
    return false;
  }
}

describe('a line of an import', () => {
  it('is right exactly when the DTO class says so, and never passes the quick rules otherwise', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(cookies, fc.jsonValue()), async (value) => {
        const text = JSON.stringify(value);
        const right = await passes(() => dto.validate(JSON.parse(text)));
        if (reader.isObviouslyValid(JSON.parse(text))) expect(right).toBe(true);
        expect(await passes(() => reader.read(Buffer.from(text)))).toBe(right);
      }),
      { numRuns: 3000 },
    );
  });

  it('passes the quick rules when it is as an export writes it', async () => {
    const cookie = { id: 1, flavor: 'vanilla', size: 'small', wish: 'x' };
    expect(reader.isObviouslyValid(cookie)).toBe(true);
    expect(await reader.read(Buffer.from(JSON.stringify(cookie)))).toEqual(cookie);
  });
});
