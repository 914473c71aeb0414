import './rule.js';
import '../../../dist/src/main.js';
