import './declaration.js';
import '../../../dist/src/main.js';
