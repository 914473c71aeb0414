import { useNodeFeatures } from '../config/node-features.js';
import { requireSupportedNode } from '../config/node-version.js';

requireSupportedNode();
useNodeFeatures();
// A dynamic import, because an old Node would fail on its syntax before the version check.
await import('./command-line.js');
