import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArguments } from '../../scripts/generate/arguments.js';
import { type Ended, ProjectCopy } from '../support/project/project-copy.js';

const WRITTEN = [
  ...['src/gift-cards', 'src/gift-cards/dto', 'src/gift-cards/dto/gift-card.dto.ts'],
  ...['values', 'resource', 'entity'].map((role) => `src/gift-cards/gift-card.${role}.ts`),
  ...['service', 'controller', 'module'].map((role) => `src/gift-cards/gift-cards.${role}.ts`),
  'test/gift-cards.e2e-spec.ts',
  'test/on-postgres/gift-cards.e2e-spec.ts',
];

describe('npm run generate', () => {
  let copy: ProjectCopy;

  beforeAll(() => {
    copy = new ProjectCopy();
  });

  const generate = (...args: string[]): Promise<Ended> => copy.node('scripts/generate.js', ...args);
  const read = (file: string): string => readFileSync(join(copy.folder, file), 'utf8');

  it('prints its usage for --help', async () => {
    const { status, stdout } = await generate('resource', '--help');
    expect(status).toBe(0);
    for (const kind of ['text', 'int', 'number', 'decimal', 'date', 'instant', 'uuid', 'bool', 'enum', 'ref', 'json'])
      expect(stdout).toContain(`:${kind}`);
  });

  it.each<[words: string, message: string]>([
    ['', '"": only "resource" can be made; for example npm run generate -- resource orders'],
    ['resource', 'the name of the resource is missing'],
    ['resource jars', 'a resource needs a property'],
    ['resource order a:bool', '"order" is no plural; for example resource orders, one of which is "order"'],
    ['resource dates a:bool', '"date": the name is taken; for example shop-dates'],
    ['resource settings a:bool', '"settings": the name is taken; for example shop-settings'],
    ['resource indices a:bool --singular index', '"index": the name is taken; for example shop-indices'],
    ['resource people --singular people a:bool', '--singular "people" is the plural, too'],
    [
      'resource jars label',
      '"label": a kind is one of text, int, number, decimal, date, instant, uuid, bool, enum, ref, json; for example label:text:',
    ],
    ['resource jars Label:bool', '"Label:bool": a name is 1 to 30 letters and digits in camel case'],
    ['resource jars revision:int:1..2', '"revision:int:1..2": the name "revision" is taken'],
    ['resource jars a:bool a:bool', '"a": comes twice'],
    ['resource jars label:text:5000', 'a text has 1 to 4000 characters at most'],
    ['resource jars size:int:0..9007199254740993', 'a bound is beyond 2^53 - 1'],
    ["resource jars state:enum:a,b'c", 'the values are letters, digits, - and _, joined by commas'],
    ['resource jars price:decimal:16,2', '"16,2" is no precision up to 15 and a smaller scale'],
    ['resource jars open:bool=maybe', '"maybe" is no default of this property'],
    ['resource jars day:date=2026-01-31', 'a property of this kind has no default'],
    ['resource jars size?:int:0..9=1', 'a property has "?" or a default'],
    ['resource jars a:bool --unique a,b', '--unique a,b: "b" is none of a'],
    ['resource jars a?:bool --read-only a', 'needs a property that is not --read-only'],
    ['resource jars a:json:', 'names in camel case, joined by commas, each once; for example address:json:street'],
    ['resource jars jarId:ref:jars', 'writes no reference of a resource to itself'],
    ['resource jars a:bool --ids text', '--ids text: it is integer or uuid'],
  ])('rejects %j with one line that names the problem', (words, message) => {
    const args = words === '' ? [] : words.split(' ');
    const known = new Map([['cookies', { entity: 'Cookie', ids: 'integer' }]]);
    const rejection = expect.stringMatching(/^[^\n]+$/);
    expect(() => parseArguments(args, known)).toThrow(expect.objectContaining({ message: rejection }));
    expect(() => parseArguments(args, known)).toThrow(message);
  });

  it.each<[words: string, message: string]>([
    ['resource jars lidId:ref:lids', '"lids" is no resource in src; there are cookies'],
    ['resource outings a:bool', '"outings": tests have a table of this name, in test/outings/create-outings.ts; for'],
    ['resource cookies a:bool', 'src/cookies/cookies.module.ts, test/cookies.e2e-spec.ts'],
  ])('%j ends with 1, and one line with the problem; nothing is written', async (words, message) => {
    const before = [copy.files(), read('src/app.module.ts')];
    const { status, stdout, stderr } = await generate(...words.split(' '));
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect([copy.files(), read('src/app.module.ts')]).toEqual(before);
  });

  it('prints the line and its place when src/app.module.ts has no such place', async () => {
    const source = read('src/app.module.ts');
    writeFileSync(join(copy.folder, 'src/app.module.ts'), source.replace('// features', ''));
    const { status, stderr } = await generate('resource', 'jars', 'label:text:100');
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('add it above CookiesModule') });
    writeFileSync(join(copy.folder, 'src/app.module.ts'), source);
  });

  it('writes a folder, a migration and the specs of both engines, and prints their names', async () => {
    const before = copy.files();
    const { status, stdout } = await generate('resource', 'gift-cards', 'giverId:ref:cookies', 'takerId:ref:cookies');
    expect(status).toBe(0);
    const written = copy.files().filter((file) => !before.includes(file));
    const migration = written.find((file) => /^migrations\/\d+-create-gift-cards\.ts$/.test(file))!;
    expect(written.sort()).toEqual([...WRITTEN, migration].sort());
    for (const file of written.filter((each) => each.endsWith('.ts'))) expect(stdout).toContain(file);
    for (const who of ['giver', 'taker']) expect(read(WRITTEN[2]!)).toContain(`'Only those of this ${who};`);
  });

  it('lists existing files when it is run again, and overwrites nothing', async () => {
    const texts = (): string[] => WRITTEN.filter((file) => file.endsWith('.ts')).map(read);
    const before = [copy.files(), read('src/app.module.ts'), texts()];
    const { status, stderr } = await generate('resource', 'gift-cards', 'other:bool');
    expect(status).toBe(1);
    for (const file of ['src/gift-cards', 'test/gift-cards.e2e-spec.ts', 'test/on-postgres/gift-cards.e2e-spec.ts']) {
      expect(stderr).toContain(file);
    }
    expect(stderr).toMatch(/migrations\/\d+-create-gift-cards\.ts: exists already, and nothing is overwritten/);
    expect([copy.files(), read('src/app.module.ts'), texts()]).toEqual(before);
  });
});
