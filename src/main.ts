import { requireSupportedNode } from './config/node-version.js';

requireSupportedNode();
// Not a static import: an older Node fails on the syntax of what it brings before it could say what is wrong.
await import('./serve.js');
