import { Logger } from '@nestjs/common';
import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { SamplesModule } from '../samples/samples.module.js';
import { OpenApiDocument } from '../support/openapi-document.js';
import { startService } from '../support/service.js';
import { owaspFindings } from './owasp-rules.js';

describe("Spectral's rules for the OWASP API Security Top 10 of 2023", () => {
  let document: any;

  // Samples have a property of every kind.
  beforeAll(async () => {
    Logger.overrideLogger(false);
    await using service = await startService(
      { LOG_LEVEL: 'silent' },
      [SamplesModule],
      [new CreateSamples1790000500000()],
    );
    document = (await OpenApiDocument.of(service)).json;
  });

  const findingsAfter = async (change: (document: any) => void): Promise<string[]> => {
    const copy = structuredClone(document);
    change(copy);
    return (await owaspFindings(copy)).map(({ code, path }) => `${code} ${path.join('/')}`);
  };

  it('find nothing in the document', async () => {
    expect(await findingsAfter(() => {})).toEqual([]);
  });

  it.each<[string, (document: any) => void]>([
    ['owasp:api2:2023-write-restricted', ({ paths }) => (paths['/cookies'].post.security = [])],
    [
      'owasp:api2:2023-jwt-best-practices',
      ({ components }) => (components.securitySchemes.bearer.description = 'A JWT'),
    ],
    ['owasp:api4:2023-string-limit', ({ paths }) => delete paths['/cookies'].get.parameters.at(-1).schema.maxLength],
    ['owasp:api4:2023-array-limit', ({ paths }) => delete paths['/cookies'].get.parameters[3].schema.maxItems],
    ['owasp:api4:2023-integer-format', ({ paths }) => delete paths['/cookies'].get.parameters[0].schema.format],
    [
      'owasp:api4:2023-string-restricted',
      ({ components }) => delete components.schemas.CreateCookieDto.properties.wish.pattern,
    ],
    ['owasp:api4:2023-rate-limit-responses-429', ({ paths }) => delete paths['/cookies'].get.responses['429']],
  ])('find %s', async (rule, change) => {
    expect((await findingsAfter(change)).join('\n')).toContain(rule);
  });
});
