import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './support/service.js';
import { ServiceProcess } from './support/service-process.js';
import { shared } from './support/shared.js';

const ROOT = join(import.meta.dirname, '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const MARK = '=== answer ===';

interface Step {
  readonly command: string;
  readonly status: string;
  readonly body: string;
}

/** The tour as a script that prints a mark before each response, with the expected status and body of each step. */
function readTour(): { script: string; steps: Step[] } {
  const tour = README.split('## A tour with curl')[1]?.split('```bash\n')[1]?.split('```')[0] ?? '';
  const lines = tour.split('\n');
  const steps: Step[] = [];
  const script = lines.map((line, index) => {
    const [, status, body = ''] = /^#> ([0-9]{3})(?: (.*))?$/.exec(lines[index + 1] ?? '') ?? [];
    if (status === undefined) return line;
    steps.push({ command: line, status, body });
    return `echo; echo '${MARK}'; ${line.replace('curl -i', 'curl -s -i')}`;
  });
  return { script: script.join('\n'), steps };
}

describe('the README', () => {
  const folder = temporaryFolder();
  const environment = { NODE_ENV: 'development', JWT_SECRET: undefined };
  const service = shared(() => ServiceProcess.start(folder, environment));

  it('shows a tour whose commands get the responses that it shows', async () => {
    const { script, steps } = readTour();
    expect(steps.length).toBeGreaterThan(10);
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, DATABASE_URL: `sqlite:${join(folder, 'cookies.sqlite')}` };
    const ran = script.replace('http://127.0.0.1:3000', service.url);
    const { stdout } = await promisify(execFile)('bash', ['-euc', ran], { cwd: ROOT, env });
    const answers = stdout.split(MARK).slice(1);
    const seen = answers.map((answer, index) => ({
      command: steps[index]!.command,
      status: / ([0-9]{3}) /.exec(answer)?.[1],
      body: steps[index]!.body === '' ? '' : answer.trim().split('\n').at(-1),
    }));
    expect(seen).toEqual(steps);
  });
});
