/** Ends the process with a message if this version of Node cannot run the project. Import it first. */
import { requireSupportedNode } from '../src/config/node-version.js';

requireSupportedNode();
