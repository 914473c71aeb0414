import { asksForVersion, serviceVersion } from './config/service-version.js';
import { useCompileCache } from './config/compile-cache.js';
import { requireSupportedNode } from './config/node-version.js';
import { keepNewObjectsYoung } from './config/v8-flags.js';
import { useSourceMaps } from './logging/source-maps.js';

if (asksForVersion()) {
  console.log(serviceVersion());
  process.exit(0);
}
requireSupportedNode();
useCompileCache();
useSourceMaps();
keepNewObjectsYoung();
// A dynamic import, because an old Node would fail on its syntax before the version check.
await import('./server/serve.js');
