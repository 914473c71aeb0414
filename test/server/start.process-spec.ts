import { mkdtempSync, readdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { openApiDocument } from '../../src/openapi/document.js';
import { nodeMajor } from '../../src/config/node-version.js';
import { run } from '../support/command.js';
import { ServiceProcess } from '../support/service-process.js';
import { startService, temporaryFolder } from '../support/service.js';

/** Exists since Node 22.14. */
const { setSourceMapsSupport } = nodeModule as { setSourceMapsSupport?: unknown };

const THROWS_AT_THE_FIRST_OUTPUT = `
  const { write } = process.stdout;
  process.stdout.write = () => {
    process.stdout.write = write;
    console.error(new Error('thrown for its stack').stack);
    return true;
  };
  Error.stackTraceLimit = 50;`;

describe('the built service', () => {
  let folder: string;
  beforeEach(() => (folder = temporaryFolder()));

  it('makes the OpenAPI document at the first request for it, and responds to all requests equally', async () => {
    await using service = await ServiceProcess.start(folder, { DOCS: 'true' });
    const fetchDocument = async () => (await fetch(`${service.url}/openapi.json`)).json();
    const documents = await Promise.all([1, 2, 3, 4].map(fetchDocument));
    await using inProcess = await startService();
    const expected = JSON.parse(JSON.stringify(openApiDocument(inProcess.app))) as unknown;
    for (const document of documents) expect(document).toEqual(expected);
  });

  (setSourceMapsSupport === undefined ? it.skip : it)(
    'shows the places of the TypeScript sources in a stack',
    async () => {
      const { stderr } = await run(folder, ['--help'], {
        environment: {
          NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(THROWS_AT_THE_FIRST_OUTPUT)}`,
        },
      });
      expect(stderr).toMatch(/^Error: thrown for its stack$/m);
      expect(stderr).toMatch(/\/src\/cli\/[a-z-]+\.ts:\d+:\d+/);
    },
  );

  (nodeMajor >= 24 ? describe : describe.skip)('on Node 24', () => {
    it('keeps compiled code for the next start, in the folder NODE_COMPILE_CACHE', async () => {
      const cache = mkdtempSync(join(folder, 'cache-'));
      const service = await ServiceProcess.start(folder, { NODE_COMPILE_CACHE: cache });
      await service.end();
      expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(10);
    });
  });
});
