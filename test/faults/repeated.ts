import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../src/config/config.js';
import { type Answer, Client, COOKIE } from '../support/service.js';
import type { ServiceProcess } from '../support/service-process.js';
import { until } from '../support/until.js';
import { type Fault, LONGEST_LOAD, type Run, Site } from './fault.js';
import { onItsOwn } from './postgres.js';

/** POSTs that are sent. */
const REQUESTS = 1000;
/** Copies of each POST that are sent at the same time. */
const COPIES = 3;
/** POSTs in flight at the same time, each with all copies. */
const AT_ONCE = 20;
/** Attempts of one copy until its response. */
const MOST_ATTEMPTS = 500;

/** Two services on one file: each POST is sent three times at once with one key, and services get SIGKILL meanwhile. */
export const repeated: Fault = (run) => Site.use((site) => new Repetitions(site, {}, run).send());

/** Like `repeated`, with two replicas on PostgreSQL. */
export const replicasRepeated: Fault = (run) =>
  Site.use((site) => onItsOwn((server) => new Repetitions(site, { DATABASE_URL: server.url() }, run).send()));

interface Replica {
  readonly service: ServiceProcess;
  readonly client: Client;
}

class Repetitions {
  private readonly replicas: Replica[] = [];
  private readonly outcomes: Record<string, number> = {};
  private responded = 0;
  private kills = 0;

  constructor(
    private readonly site: Site,
    private readonly environment: Environment,
    private readonly run: Run,
  ) {}

  async send() {
    for (let number = 0; number < 2; number++) this.replicas[number] = await this.start();
    const keys = Array.from({ length: REQUESTS }, () => randomUUID());
    const ids = new Map<string, number>();
    const waiting = [...keys];
    const sendAll = async (): Promise<void> => {
      for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
        // A start takes longer than many POSTs, and the next kill needs POSTs in flight.
        await this.untilResponses(() => this.responded < this.dueAt(this.kills + 2));
        ids.set(key, await this.sendCopies(key));
        this.responded += 1;
      }
    };
    await Promise.all([...Array.from({ length: AT_ONCE }, sendAll), this.killSome()]);
    const { body } = await this.replicas[0]!.client.get('/cookies');
    const stored = body.map(({ wish, id }: { wish: string; id: number }) => [wish, id]).sort();
    assert.deepEqual(stored, [...ids].sort(), 'each POST made exactly one record, with the id of its responses');
    for (const { service } of this.replicas) assert.equal(await service.end(), 0);
    return { records: stored.length, ...this.outcomes };
  }

  /** Sends all copies of a POST until each has its 201, and returns the id that all of them have. */
  private async sendCopies(key: string): Promise<number> {
    const answers = await Promise.all(Array.from({ length: COPIES }, (_, copy) => this.sendCopy(key, copy)));
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1, `the responses to ${key} differ`);
    const first = answers.filter(({ headers }) => !headers.has('idempotency-replayed'));
    assert.ok(first.length <= 1, `${first.length} responses to ${key} say that they are the first`);
    return answers[0]!.body.id;
  }

  private async sendCopy(key: string, copy: number): Promise<Answer> {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const { client } = this.replicas[(copy + attempt) % this.replicas.length]!;
      const answer = await client.post({ ...COOKIE, wish: key }, { 'idempotency-key': key }).catch(() => undefined);
      const outcome = answer === undefined ? 'unanswered' : String(answer.status);
      this.outcomes[outcome] = (this.outcomes[outcome] ?? 0) + 1;
      if (answer?.status === 201) return answer;
      assert.ok(answer === undefined || [409, 503].includes(answer.status), `${answer?.status} ${answer?.text}`);
      await sleep(20);
    }
    throw new Error(`${key} has no response after ${MOST_ATTEMPTS} attempts`);
  }

  /** Kills one replica after the other, each while POSTs are in flight. */
  private async killSome(): Promise<void> {
    for (let time = 1; time <= this.run.times; time++) {
      await this.untilResponses(() => this.responded >= this.dueAt(time));
      const number = time % 2;
      await this.replicas[number]!.service.end('SIGKILL');
      this.replicas[number] = await this.start();
      this.kills = time;
    }
  }

  /** The number of responses after which a kill is due; infinite after the last kill. */
  private dueAt(kill: number): number {
    const { times } = this.run;
    return kill > times ? Infinity : (REQUESTS * kill) / (times + 1);
  }

  private untilResponses(condition: () => boolean): Promise<void> {
    const state = () => `${this.responded} POSTs have their responses, and ${this.kills} kills were made`;
    return until(condition, state, LONGEST_LOAD);
  }

  private async start(): Promise<Replica> {
    const service = await this.site.start(this.environment);
    return { service, client: await Client.of(service) };
  }
}
