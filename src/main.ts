import { setFlagsFromString } from 'node:v8';
import { serviceVersion } from './config/service-version.js';
import { useNodeFeatures } from './config/node-features.js';
import { requireSupportedNode } from './config/node-version.js';

if (process.argv.slice(2).some((argument) => argument === '--version' || argument === '-V')) {
  console.log(serviceVersion());
  process.exit(0);
}
requireSupportedNode();
useNodeFeatures();
// Turns off pretenuring: V8 would allocate objects among old ones, where they keep the whole request until the next
// full garbage collection. A POST took a fifth more CPU.
setFlagsFromString('--no-allocation-site-pretenuring');
// The young generation keeps its first size while modules are loaded (`serve.ts`): they would enlarge it by 25 MB.
setFlagsFromString('--semi-space-growth-factor=1');
// A dynamic import, because an old Node would fail on its syntax before the version check.
await import('./server/serve.js');
