import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allSettings, loadConfig } from '../src/config/config.js';
import { SETTINGS } from '../src/features.js';
import { temporaryFolder } from './support/service.js';

const ROOT = join(import.meta.dirname, '..');
const DOCKERFILE = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
const [, port, managementPort] = /PORT=(\d+) MANAGEMENT_PORT=(\d+)/.exec(DOCKERFILE)!.map(Number);
const [, user, group] = /^USER (\d+):(\d+)$/m.exec(DOCKERFILE)!.map(Number);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const SERVER = { 'app.kubernetes.io/name': 'cookies', 'app.kubernetes.io/component': 'server' };
const SERVER_SELECTOR = Object.entries(SERVER).map((label) => label.join('='));
/** Maximum milliseconds of a stop besides SHUTDOWN_DELAY and SHUTDOWN_TIMEOUT. */
const CLOSE = 6000;

/** Output of kubectl. None of these commands needs a server. */
function kubectl(args: string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('kubectl', args, { cwd: ROOT, encoding: 'utf8', input });
  if (status !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Parses the objects that kubectl prints one after the other. */
const objectsIn = (json: string): any[] => JSON.parse(`[${json.replaceAll(/^\}\n\{/gm, '},{')}]`) as any[];
const built = (name: string): any[] =>
  objectsIn(
    kubectl(['label', '--local', '-f', '-', '-o', 'json', 'x=y'], kubectl(['kustomize', `deploy/kubernetes/${name}`])),
  );
/** The objects after kubectl has read them into its own types, which drops unknown fields. */
const typed = (set: string[], items: any[]): any[] =>
  objectsIn(
    kubectl(
      ['set', ...set, '--local', '-f', '-', '-o', 'json'],
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    ),
  );

const withKubectl = spawnSync('kubectl', ['version', '--client']).status === 0 ? describe : describe.skip;

withKubectl.each(['sqlite', 'postgres'])('deploy/kubernetes/%s', (name) => {
  let objects: any[];
  const all = (...kinds: string[]): any[] => objects.filter(({ kind }) => kinds.includes(kind as string));
  const workloads = () => all('StatefulSet', 'Deployment', 'Job');
  const settings = (): Record<string, string> => all('ConfigMap')[0].data;
  beforeAll(() => void (objects = built(name)));

  it('has no field in a workload or a Service that Kubernetes does not know', () => {
    expect(typed(['env', 'A=b'], workloads())).toMatchObject(workloads());
    expect(typed(['selector', SERVER_SELECTOR.join()], all('Service'))).toMatchObject(all('Service'));
  });

  it('sets known settings to valid values, and secrets from mounted files', () => {
    const known = allSettings(SETTINGS).flatMap(({ name, file }) => [name, ...(file ? [`${name}_FILE`] : [])]);
    expect(Object.keys(settings()).filter((each) => !known.includes(each))).toEqual([]);
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'jwt_secret'), randomUUID());
    writeFileSync(join(folder, 'database_url'), 'postgres://cookies:secret@postgres:5432/cookies?sslmode=disable');
    const mounted = JSON.stringify(settings()).replaceAll('/run/secrets/cookies', folder);
    const config = loadConfig({ NODE_ENV: 'production', ...JSON.parse(mounted) }, SETTINGS);
    expect(config.database.url.engine).toBe(name);
    for (const { spec } of all('StatefulSet', 'Deployment')) {
      const grace = (spec.template.spec.terminationGracePeriodSeconds as number) * 1000;
      expect(grace).toBeGreaterThan(config.shutdownDelay + config.shutdownTimeout + CLOSE);
    }
  });

  it('runs the image as its user, without further rights, on a read-only root', () => {
    expect(workloads()).toHaveLength(name === 'sqlite' ? 1 : 2);
    for (const { spec } of workloads()) {
      const pod = spec.template.spec;
      const ids = { runAsUser: user, runAsGroup: group, fsGroup: group };
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
        ...ids,
      });
      expect(pod.containers).toMatchObject([{ image: `cookie-storage-service:${version}` }]);
      expect(pod.containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(pod.containers[0].envFrom).toEqual([{ configMapRef: { name: all('ConfigMap')[0].metadata.name } }]);
      expect(pod.volumes).toContainEqual({ name: 'secrets', secret: { secretName: 'cookies', defaultMode: 0o440 } });
      // Beyond its limit, a volume on a disk would end the pod, for example because of `cli restore --verify`.
      expect(pod.volumes).toContainEqual({ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } });
    }
    expect(all('Secret')).toEqual([]);
  });

  it('sends requests, probes and scrapes to the ports of the image, and only to pods that serve', () => {
    const [{ spec }] = all('StatefulSet', 'Deployment');
    const [container] = spec.template.spec.containers;
    expect(container.ports).toEqual([
      { name: 'http', containerPort: port },
      { name: 'management', containerPort: managementPort },
    ]);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const path = probe === 'readinessProbe' ? '/health/ready' : '/health/live';
      expect(container[probe].httpGet).toEqual({ path, port: 'management' });
    }
    expect(spec.template.metadata.labels).toEqual(SERVER);
    expect(all('Service').map(({ spec }) => [spec.selector, spec.ports[0].targetPort])).toEqual([
      [SERVER, 'http'],
      [SERVER, 'management'],
    ]);
    const [{ spec: policy }] = all('NetworkPolicy');
    const from = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }];
    expect(policy.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(policy.ingress).toEqual([{ ports: [{ port: 'http' }] }, { from, ports: [{ port: 'management' }] }]);
    const egress = policy.egress.flatMap(({ ports }: { ports: { port: number }[] }) => ports.map(({ port }) => port));
    expect(egress).toEqual(name === 'sqlite' ? [] : [5432, 53, 53]);
  });

  it('migrates PostgreSQL by a Job, and lets a drain take one replica at a time', () => {
    const jobs = all('Job').map(({ spec }) => spec.template);
    const [budget, labels] = [all('PodDisruptionBudget'), jobs.map(({ metadata }) => metadata.labels)];
    const selector = { matchLabels: SERVER };
    const one = { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector };
    expect(budget.map(({ spec }) => spec)).toEqual(name === 'sqlite' ? [] : [one]);
    expect(labels).toEqual(name === 'sqlite' ? [] : [{ ...SERVER, 'app.kubernetes.io/component': 'migration' }]);
    for (const { spec } of jobs) expect(spec.containers[0].command).toEqual(['cli', 'migrate', '--check-capacity']);
  });
});
