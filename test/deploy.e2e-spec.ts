import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { codeOfStatus } from '../src/http/errors/api-error.js';
import { canMakeCertificates, makeCertificate } from './support/certificate.js';
import { folderWith, lines, run } from './support/command.js';
import { createDatabase, describeEngines } from './support/engine.js';
import { freePort } from './support/postgres/postgres-server.js';
import { COOKIE, sharedService, startService, temporaryFolder, token } from './support/service.js';
import { until } from './support/until.js';

const DEPLOY = join(import.meta.dirname, '../deploy');
const read = (file: string) => readFileSync(join(DEPLOY, file), 'utf8');
/** Names of the service's metrics; `up` is a metric of Prometheus. */
const METRIC = /\b(?:http|storage|database|log|nodejs|process)_[a-z0-9_]+/g;

/** The program HAProxy, if it is installed; `HAPROXY_PATH` sets another path. */
const HAPROXY = process.env['HAPROXY_PATH'] ?? 'haproxy';
const withHaproxy = canMakeCertificates && spawnSync(HAPROXY, ['-v']).status === 0 ? it : it.skip;

const UNITS = readdirSync(join(DEPLOY, 'systemd'));
const withSystemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? it : it.skip;

/** `promtool` comes with Debian's package `prometheus`. */
const withPromtool = spawnSync('promtool', ['--version']).status === 0 ? it : it.skip;

/** Metrics that the service does not have on PostgreSQL. */
const SQLITE_ONLY = ['database_last_backup_timestamp_seconds', 'database_volume_free_bytes', 'database_wal_bytes'];

interface Dashboard {
  templating: { list: { name: string; query: string }[] };
  panels: { title: string; targets: { expr: string; datasource: { uid: string } }[] }[];
}

describe('the files in deploy', () => {
  const dashboard = JSON.parse(read('grafana/dashboards/cookies.json')) as Dashboard;
  const targets = dashboard.panels.flatMap((panel) => panel.targets);
  const rules = read('prometheus/alerts.yml');
  const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name]) => name!);

  describeEngines('a metric', (engine) => {
    const { service, client } = sharedService(async () => ({
      BACKUP_DIR: DEPLOY,
      ...(engine === 'postgres' && { DATABASE_URL: await createDatabase(`deploy_${process.pid}`) }),
    }));
    let exposed: string;

    beforeAll(async () => {
      await client.post(COOKIE);
      exposed = await (await fetch(`${service.managementUrl}/metrics`)).text();
    });

    it.each([
      ['an alert', () => [...rules.matchAll(/expr: ([\s\S]*?)\n +(?:for|labels):/g)].map(String)],
      ['the dashboard', () => targets.map(({ expr }) => expr)],
      ['its variables', () => dashboard.templating.list.map(({ query }) => query)],
    ])('use only metrics of the service in %s', (_where, expressions) => {
      const asked = new Set(expressions().flatMap((expression) => expression.match(METRIC) ?? []));
      expect(asked.size).toBeGreaterThan(0);
      // A counter without an event has a type but no value.
      const given = new Set([...exposed.matchAll(/^(?:# TYPE )?([a-z_0-9]+)[{ ]/gm)].map(([, name]) => name));
      const missing = [...asked].filter((name) => !given.has(name));
      expect(missing.filter((name) => engine === 'sqlite' || !SQLITE_ONLY.includes(name))).toEqual([]);
    });

    it('count the bucket of 0.5 s, which an alert needs', () => {
      expect(exposed).toMatch(/^http_request_duration_seconds_bucket\{.*le="0\.5".*\} 1$/m);
    });
  });

  it('draw every panel from the provisioned data source', () => {
    const uid = /uid: (\w+)/.exec(read('grafana/provisioning/datasources/prometheus.yaml'))?.[1];
    expect(targets.map(({ datasource }) => datasource.uid)).toEqual(targets.map(() => uid));
    for (const { title } of dashboard.panels) expect(title).not.toBe('');
  });

  it('have the meaning and the remedy of every alert in docs/operating.md', () => {
    const guide = read('../docs/operating.md');
    const explained = [...guide.matchAll(/^\| `(\w+)` +(?:\| +\S[^|]*){3}\|$/gm)].map(([, name]) => name!);
    expect(alerts.length).toBeGreaterThan(5);
    expect(alerts.filter((name) => !explained.includes(name))).toEqual([]);
  });

  it('have a test in which each alert fires', () => {
    const tested = [...read('prometheus/alerts.test.yml').matchAll(/alertname: (\w+)\n +exp_alerts:\n/g)];
    const names = tested.map(([, name]) => name);
    expect(alerts.filter((name) => !names.includes(name))).toEqual([]);
  });

  withPromtool('has alerts that pass their tests, and a configuration that Prometheus accepts', () => {
    for (const args of [
      ['test', 'rules', 'alerts.test.yml'],
      ['check', 'config', 'prometheus.yml'],
    ]) {
      const { status, stdout, stderr } = spawnSync('promtool', args, {
        cwd: join(DEPLOY, 'prometheus'),
        encoding: 'utf8',
      });
      expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    }
  });

  withSystemd('are units that systemd accepts, and the service runs a valid command', () => {
    const folder = temporaryFolder();
    for (const unit of UNITS) {
      // The unit has the path of an installed program.
      const text = read(`systemd/${unit}`).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
      writeFileSync(join(folder, unit), text);
    }
    const files = UNITS.map((unit) => join(folder, unit));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], { encoding: 'utf8' });
    expect({ status, stderr: stderr.split('\n').filter((line) => line.includes('cookies')) }).toEqual({
      status: 0,
      stderr: [],
    });
  });

  withSystemd('are services that systemd rates as hardened: an exposure of at most 1.5 of 10', () => {
    for (const unit of UNITS.filter((name) => name.endsWith('.service'))) {
      const args = ['security', '--offline=true', '--threshold=15', join(DEPLOY, 'systemd', unit)];
      const { status, stderr } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      expect({ unit, status, stderr }).toEqual({ unit, status: 0, stderr: '' });
    }
  });

  it('have scripts that run in a clone of Git for Windows, which writes CRLF by default', () => {
    const folder = temporaryFolder();
    const script = join(folder, 'cli.sh');
    const git = (...args: string[]) => execFileSync('git', ['-c', 'core.autocrlf=true', ...args], { cwd: folder });
    git('init', '--quiet');
    cpSync(join(DEPLOY, 'cli.sh'), script);
    cpSync(join(DEPLOY, '../.gitattributes'), join(folder, '.gitattributes'));
    git('add', 'cli.sh');
    rmSync(script);
    git('checkout', '--quiet', 'cli.sh');
    expect(readFileSync(script, 'utf8')).toBe(read('cli.sh'));
  });

  it('have a systemd unit of the service, with known settings and enough time to stop', () => {
    const unit = read('systemd/cookies.service');
    expect(read('../package.json')).toContain(` ${/^ExecStart=\S+ (.*)$/m.exec(unit)![1]}"`);
    const set = /^Environment=(.*)$/m
      .exec(unit)![1]!
      .split(' ')
      .map((each) => each.split('=')[0]!);
    expect(set.filter((name) => !read('../.env.example').includes(`\n${name}=`))).toEqual([]);
    expect(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)![1])).toBeGreaterThan(10 + 6);
  });

  it('pass certificate and key on in compose.tls.yaml, from the files that docs/operating.md makes', () => {
    const override = read('../compose.tls.yaml');
    const settings = [...override.matchAll(/^ {6}(\w+): \/run\/secrets\/(\w+)$/gm)];
    expect(settings.map(([, name]) => name)).toEqual(['TLS_CERT_FILE', 'TLS_KEY_FILE']);
    const secrets = settings.map(([, , secret]) => secret!);
    expect(override).toContain(`    secrets: [${secrets.join(', ')}]\n`);
    for (const secret of secrets) {
      expect(override).toContain(`  ${secret}: { file: ./secrets/${secret} }\n`);
      expect(read('../docs/operating.md')).toContain(`out secrets/${secret}`);
    }
    for (const file of [override, read('../compose.yaml')]) expect(file).toContain('services:\n  service:\n');
  });

  it('build an image whose temporary files of SQLite go to the volume of the database, and not to a small /tmp', () => {
    const image = read('../Dockerfile');
    const volume = /^VOLUME (\S+)$/m.exec(image)![1]!;
    for (const setting of [`SQLITE_TMPDIR=${volume}\n`, `DATABASE_URL=sqlite:${volume}/`])
      expect(image).toContain(setting);
  });

  it('give each container a separate host name, which distinguishes the drafts of its processes', () => {
    // `docker compose run backup` would get the name of the service, and has the same process id.
    for (const file of ['compose.yaml', 'compose.cluster.yaml']) expect(read(`../${file}`)).not.toContain('hostname:');
  });

  it('signal no container by `docker kill`, after which Docker does not restart it, whatever the signal', () => {
    for (const file of ['docs/operating.md', 'compose.yaml', 'compose.cluster.yaml', 'deploy/roll.sh'])
      expect(read(`../${file}`)).not.toMatch(/\bkill (-s|--signal)\b/);
  });

  it('are documented with a revert that does not start `migrate`, which would run the reverted migration again', () => {
    const reverts = read('../docs/operating.md').match(/^docker compose run .*migration:revert.*$/gm)!;
    expect(reverts).toEqual([expect.stringContaining(' --no-deps service ')]);
  });

  it('ask for the IPv4 addresses of the replicas, which listen only there, and keep them while the name server is away', () => {
    expect(read('../compose.cluster.yaml')).toContain('HOST: 0.0.0.0\n');
    const balancer = read('haproxy/haproxy.cfg');
    expect(balancer).toMatch(/^ +server-template .* resolve-prefer ipv4 /m);
    // Its default is 30 s.
    for (const hold of ['timeout', 'refused']) expect(balancer).toMatch(new RegExp(`^ +hold ${hold} 1d$`, 'm'));
  });

  it('have backup commands that the command line accepts', async () => {
    const folder = await folderWith(lines(1));
    const unit = /^ExecStart=.*main\.js (backup .*)$/m.exec(read('systemd/cookies-backup.service'))![1]!;
    const compose = /command: \[cli, (backup, .*)\]/.exec(read('../compose.yaml'))![1]!;
    const inCompose = compose.replaceAll(', ', ' ').replaceAll(/'\$\{\w+:-([^}]*)\}'/g, '$1');
    expect(inCompose).toContain(' --every 1h');
    for (const command of [unit, inCompose.replace(' --every 1h', '')]) {
      const args = command.split(' ').map((arg) => (arg.startsWith('/') ? folder : arg));
      expect(await run(folder, args)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('Backed up 1 cookie '),
      });
    }
  });

  it.each(readdirSync(join(DEPLOY, 'haproxy')))('have errors of HAProxy in the shape of all errors: %s', (file) => {
    const errors = [...read(join('haproxy', file)).matchAll(/http-error status (\d+) .* lf-string '(.*?)' (.*)$/gm)];
    expect(errors.map(([, status]) => status)).toEqual(['400', '408', '502', '503', '504']);
    for (const [, status, body, fields] of errors) {
      expect(JSON.parse(body!)).toEqual({
        statusCode: Number(status),
        error: STATUS_CODES[status!],
        message: expect.any(String),
        errorCode: codeOfStatus(Number(status)),
        requestId: '%[unique-id]',
      });
      expect(fields!.includes('hdr Retry-After 1')).toBe(status === '503');
    }
  });

  it.each(readdirSync(join(DEPLOY, 'haproxy')))('accept every header section that the service accepts: %s', (file) => {
    const bytes = Number(/^ +tune\.bufsize (\d+)$/m.exec(read(join('haproxy', file)))?.[1]);
    // HAProxy keeps 1 KiB for the fields that it adds.
    expect(bytes).toBeGreaterThanOrEqual(maxHeaderSize + 2048);
  });

  /** The path of a configuration of HAProxy with a certificate. */
  function withCertificate(configuration: string): string {
    const folder = temporaryFolder();
    const { key, certificate } = makeCertificate(folder);
    const [cfg, pem] = [join(folder, 'cfg'), join(folder, 'pem')];
    writeFileSync(pem, readFileSync(key, 'utf8') + readFileSync(certificate, 'utf8'));
    writeFileSync(cfg, configuration.replace('/etc/haproxy/cookies.pem', pem));
    return cfg;
  }

  withHaproxy('lets a header section of 15.5 KiB reach the service, and 431 of a larger one the client', async () => {
    await using service = await startService();
    const port = await freePort();
    const configuration = read('haproxy/tls.cfg')
      .replace('bind :443', `bind 127.0.0.1:${port}`)
      .replace('127.0.0.1:3000', new URL(service.url).host);
    const haproxy = spawn(HAPROXY, ['-db', '-f', withCertificate(configuration)], { stdio: 'ignore' });
    const authorization = `Bearer ${await token()}`;
    const statusOf = async (length: number): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const headers = { authorization, 'x-filler': 'x'.repeat(length) };
        const request = get(
          { port, path: '/cookies', headers, rejectUnauthorized: false, agent: false },
          (response) => {
            response.resume().once('end', () => resolve(response.statusCode));
          },
        );
        request.on('error', reject);
      });
    try {
      await until(async () => (await statusOf(1).catch(() => undefined)) === 200, 'HAProxy passes requests on');
      expect(await Promise.all([statusOf(15_500), statusOf(20_000)])).toEqual([200, 431]);
    } finally {
      haproxy.kill('SIGKILL');
    }
  });

  withHaproxy.each(readdirSync(join(DEPLOY, 'haproxy')))('is a configuration that HAProxy accepts: %s', (file) => {
    const { status, stderr } = spawnSync(HAPROXY, ['-c', '-f', withCertificate(read(join('haproxy', file)))], {
      encoding: 'utf8',
      env: { ...process.env, OUTER_PROXY: '255.255.255.255' },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringMatching(/ALERT|WARNING/) });
  });
});
