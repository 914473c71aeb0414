import { useCompileCache } from '../config/compile-cache.js';
import { requireSupportedNode } from '../config/node-version.js';
import { useSourceMaps } from '../logging/source-maps.js';

requireSupportedNode();
useCompileCache();
useSourceMaps();
// Not a static import: an older Node fails on the syntax of what it brings before it could say what is wrong.
await import('./command-line.js');
