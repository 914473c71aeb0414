/** To be imported first: ends the process with a line where this version of Node cannot run the project. */
import { requireSupportedNode } from '../src/config/node-version.js';

requireSupportedNode();
