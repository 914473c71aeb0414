/**
 * Runs commands of the built command line in one process, one after the other, which saves loading the code for each. A
 * message names a command; the response has its exit code and output.
 */
import { Buffer } from 'node:buffer';
import { Console } from 'node:console';
import { resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const COMMAND_LINE = pathToFileURL(resolve('dist/src/cli/command-line.js')).href;
const [program] = process.argv.slice(1);
const endProcess = process.exit.bind(process);
let commands = 0;

/** A stream that collects its input as text. */
class Printed extends Writable {
  text = '';

  _write(chunk, _encoding, callback) {
    this.text += chunk;
    callback();
  }
}

function replace(name, value) {
  Object.defineProperty(process, name, { value, configurable: true, writable: true });
}

async function run({ args, env, folder, input }) {
  const [stdout, stderr] = [new Printed({ decodeStrings: false }), new Printed({ decodeStrings: false })];
  let code = 0;
  process.chdir(folder);
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
  replace('argv', [process.execPath, program, ...args]);
  replace('stdin', Readable.from(input.length === 0 ? [] : [Buffer.from(input)]));
  replace('stdout', stdout);
  replace('stderr', stderr);
  replace('exit', (exitCode) => (code = exitCode));
  globalThis.console = new Console(stdout, stderr);
  // The query makes it a new module, which runs again. The modules that it imports are loaded once.
  await import(`${COMMAND_LINE}?${++commands}`);
  for (const event of ['SIGINT', 'SIGTERM', 'exit']) process.removeAllListeners(event);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

process.on('disconnect', () => endProcess());
process.on('message', (command) => void run(command).then((outcome) => process.send(outcome)));
