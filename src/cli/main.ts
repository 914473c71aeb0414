import { useCompileCache } from '../config/compile-cache.js';
import { requireSupportedNode } from '../config/node-version.js';
import { useSourceMaps } from '../logging/source-maps.js';

requireSupportedNode();
useCompileCache();
useSourceMaps();
// A dynamic import, because an old Node would fail on its syntax before the version check.
await import('./command-line.js');
