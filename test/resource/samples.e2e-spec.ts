import { CreateSamples1790000500000 } from '../samples/create-samples.js';
import { CreateSampleDto, SampleDto } from '../samples/sample.dto.js';
import { SAMPLE } from '../samples/sample.entity.js';
import { SamplesModule } from '../samples/samples.module.js';
import { describeResource } from '../support/resource/describe-resource.js';

// This resource has UUIDs, a property of every kind, ranges and sorts.
await describeResource({
  path: '/samples',
  modules: [SamplesModule],
  migrations: [new CreateSamples1790000500000()],
  resource: {
    name: SAMPLE,
    createDto: () => Promise.resolve(CreateSampleDto),
    recordDto: () => Promise.resolve(SampleDto),
  },
});
