import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { SamplesModule } from '../samples/samples.module.js';
import { OpenApiDocument } from '../support/openapi-document.js';
import { startService } from '../support/service.js';
import { owaspFindings } from './owasp-rules.js';

describe("Spectral's rules for the OWASP API Security Top 10 of 2023", () => {
  let document: any;

  // Samples have a property of every kind.
  beforeAll(async () => {
    await using service = await startService(
      { LOG_LEVEL: 'silent' },
      [SamplesModule],
      [new CreateSamples1790000500000()],
    );
    document = (await OpenApiDocument.of(service)).json;
  });

  it('find nothing in the document', async () => {
    expect(await owaspFindings(document)).toEqual([]);
  });

  it('find each fault of a changed document', async () => {
    const { paths, components } = document;
    const { get, post } = paths['/cookies'];
    post.security = [];
    components.securitySchemes.bearer.description = 'A JWT';
    delete get.parameters.at(-1).schema.maxLength;
    delete get.parameters[3].schema.maxItems;
    delete get.parameters[0].schema.format;
    delete components.schemas.CreateCookieDto.properties.wish.pattern;
    delete get.responses['429'];
    const codes = (await owaspFindings(document)).map(({ code }) => code);
    expect(codes).toEqual(
      expect.arrayContaining(
        [
          ...['api2:2023-write-restricted', 'api2:2023-jwt-best-practices', 'api4:2023-string-limit'],
          ...['api4:2023-array-limit', 'api4:2023-integer-format', 'api4:2023-string-restricted'],
          'api4:2023-rate-limit-responses-429',
        ].map((name) => `owasp:${name}`),
      ),
    );
  });
});
