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
// Not a static import: an older Node fails on the syntax of what it brings before it could say what is wrong.
await import('./server/serve.js');
