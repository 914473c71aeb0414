import { setFlagsFromString } from 'node:v8';
import { asksForVersion, serviceVersion } from './config/service-version.js';
import { useCompileCache } from './config/compile-cache.js';
import { requireSupportedNode } from './config/node-version.js';
import { useSourceMaps } from './logging/source-maps.js';

if (asksForVersion()) {
  console.log(serviceVersion());
  process.exit(0);
}
requireSupportedNode();
useCompileCache();
useSourceMaps();
// V8 would allocate objects that often survive among the old ones, where they keep the whole request until the next
// full garbage collection: a POST took a fifth more CPU.
setFlagsFromString('--no-allocation-site-pretenuring');
// A dynamic import, because an old Node would fail on its syntax before the version check.
await import('./server/serve.js');
