import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/postgres/postgres-server.js';
import { temporaryFolder } from '../support/service.js';
import { until } from '../support/until.js';

export interface Address {
  readonly port: string;
  readonly managementPort: string;
}

const read = (name: string): string => readFileSync(join('deploy', name), 'utf8');

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** A real Prometheus with the rules of `deploy/prometheus`, in which a minute is shortened to a second. */
export class Watchman {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(addresses: readonly Address[]): Promise<Watchman> {
    const folder = temporaryFolder();
    const rules = read('prometheus/alerts.yml')
      .replace('> 10800', '> 180')
      .replaceAll(
        /(?<=for: |offset |\[)(\d+)([mh])\b/g,
        (_, count: string, unit: string) => count + (unit === 'm' ? 's' : 'm'),
      );
    writeFileSync(join(folder, 'alerts.yml'), rules);
    const targets = addresses.map(({ managementPort }) => `'127.0.0.1:${managementPort}'`).join(', ');
    writeFileSync(
      join(folder, 'prometheus.yml'),
      `global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [alerts.yml]
scrape_configs: [{ job_name: cookies, static_configs: [{ targets: [${targets}] }] }]
`,
    );
    const address = `127.0.0.1:${await freePort()}`;
    const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
    const child = spawn('prometheus', [...args, `--web.listen-address=${address}`], { stdio: 'ignore' });
    process.once('exit', () => child.kill('SIGKILL'));
    const ready = (): Promise<boolean> =>
      fetch(`http://${address}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(ready, () => 'Prometheus is ready');
    return new Watchman(child, `http://${address}`);
  }

  /** The alerts that fired since a time in milliseconds. */
  async firing(from: number): Promise<string[]> {
    const query = new URLSearchParams({
      query: 'ALERTS{alertstate="firing"}',
      start: String(from / 1000),
      end: String(Date.now() / 1000),
      step: '1',
    });
    const response = await fetch(`${this.url}/api/v1/query_range?${query.toString()}`);
    const { data } = (await response.json()) as { data: { result: { metric: { alertname: string } }[] } };
    return [...new Set(data.result.map(({ metric }) => metric.alertname))].sort();
  }

  end(): Promise<void> {
    return ended(this.child);
  }
}

/** HAProxy with the configuration of `deploy/haproxy`; the addresses of the replicas do not come from a name server. */
export class Balancer {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
    private readonly statistics: string,
  ) {}

  static async start(addresses: readonly Address[]): Promise<Balancer> {
    const folder = temporaryFolder();
    const [port, statistics] = [await freePort(), await freePort()];
    const servers = addresses.map(
      (each, index) => `    server r${index} 127.0.0.1:${each.port} check port ${each.managementPort}`,
    );
    const configuration = read('haproxy/haproxy.cfg')
      .replace(/^resolvers docker\n(?: .*\n)+/m, '')
      .replace('bind :3000', `bind 127.0.0.1:${port}`)
      .replace('check port 3001 ', '')
      .replace(/^ *server-template .*$/m, servers.join('\n'));
    const page = `frontend statistics\n    bind 127.0.0.1:${statistics}\n    stats enable\n    stats uri /\n`;
    writeFileSync(join(folder, 'haproxy.cfg'), `${configuration}\n${page}`);
    const env = { PATH: process.env['PATH'], OUTER_PROXY: '255.255.255.255' };
    const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], {
      env,
      stdio: 'ignore',
    });
    process.once('exit', () => child.kill('SIGKILL'));
    return new Balancer(child, `http://127.0.0.1:${port}`, `http://127.0.0.1:${statistics}/;csv`);
  }

  async allUp(): Promise<void> {
    const isUp = async (): Promise<boolean> => {
      const text = await (await fetch(this.statistics)).text();
      const states = text.split('\n').filter((line) => /^replicas,r\d/.test(line));
      return states.length > 0 && states.every((line) => line.split(',')[17] === 'UP');
    };
    await until(isUp, () => 'all replicas are up in HAProxy');
  }

  end(): Promise<void> {
    return ended(this.child);
  }
}
