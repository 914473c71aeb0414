import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { TurnQueue } from './turn-queue.js';
import { type ProcessEnd, WorkerProcess } from './worker-process.js';

/** What workers run, also where another program, such as that of `npm start`, has loaded the service. */
const PROGRAM = fileURLToPath(new URL('../../main.js', import.meta.url));

/** Milliseconds in which one that takes the place of another must serve. */
const REPLACE_TIMEOUT = 300_000;
/** Milliseconds that a worker must live for its end not to be counted with those before. */
const STABLE = 60_000;
/** Milliseconds before a worker is replaced that follows others which ended soon; doubled from the first to the second. */
const BACK_OFF = [1000, 30_000] as const;
/** How often in a row a replacement may fail to start before the service ends. */
const MOST_ATTEMPTS = 5;

/** The service cannot start; the worker has printed why. */
export class WorkerStartError extends Error {
  constructor(readonly exitCode: number) {
    super('A worker could not start');
    this.name = 'WorkerStartError';
  }
}

/**
 * The workers of the service: as many as there should be. Emits `forked` with each that is started, and `failed` with an exit code
 * when one that has ended cannot be replaced.
 */
export class WorkerPool extends EventEmitter<{ forked: [worker: WorkerProcess]; failed: [exitCode: number] }> {
  /** How many ended though nobody had asked them to. */
  crashes = 0;

  private readonly all = new Set<WorkerProcess>();
  private readonly turns = new TurnQueue();
  private readonly logger = new Logger('Service');
  private stopping = false;
  private filling = false;
  private replacing?: Promise<void>;
  private replaceAgain = false;
  /** How many in a row have ended soon after their start. */
  private shortLives = 0;

  /** @param size how many workers there should be */
  constructor(private readonly size: number) {
    super();
    // Advanced: JSON would turn a figure that is not a number into null.
    cluster.setupPrimary({ exec: PROGRAM, serialization: 'advanced', stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  }

  /** Those that take requests. */
  get serving(): WorkerProcess[] {
    return [...this.all].filter(({ isServing }) => isServing);
  }

  /**
   * Resolves when all serve. The first starts alone: it runs the migrations, and what is wrong is printed once.
   * @throws {WorkerStartError} when one does not start
   */
  async start(): Promise<void> {
    await this.forkOrThrow();
    if (this.stopping) return;
    await Promise.all(Array.from({ length: this.size - 1 }, () => this.forkOrThrow()));
  }

  /** Replaces all, one after the other: each old one ends when a new one serves. A call meanwhile begins again afterwards. */
  replaceAll(): void {
    this.replaceAgain = true;
    this.replacing ??= this.replaceEach().finally(() => (this.replacing = undefined));
  }

  /**
   * Asks all to stop in good order, and waits for them.
   * @returns 0, or 1 where one of them failed to
   */
  async stop(): Promise<number> {
    this.stopping = true;
    const stopped = [...this.all].map(async (worker) => {
      const mustSucceed = worker.hasStarted;
      worker.stop();
      const { code } = await worker.ended;
      return mustSucceed && code !== 0 ? 1 : 0;
    });
    return Math.max(0, ...(await Promise.all(stopped)));
  }

  kill(): void {
    this.stopping = true;
    for (const worker of this.all) worker.kill();
  }

  /**
   * Starts a worker, and resolves when it serves or has ended.
   * @param timeout milliseconds after which one that does not serve yet is killed
   */
  private async fork(timeout?: number): Promise<WorkerProcess> {
    const worker = new WorkerProcess(cluster.fork());
    this.all.add(worker);
    this.emit('forked', worker);
    worker.onWriteTurn = (message) => this.turns.receive(worker, message);
    void worker.ended.then((end) => this.handleEnd(worker, end));
    const timer = timeout === undefined ? undefined : setTimeout(() => worker.kill(), timeout);
    await worker.started;
    clearTimeout(timer);
    return worker;
  }

  private async forkOrThrow(): Promise<void> {
    const { hasStarted, ended } = await this.fork();
    if (!hasStarted && !this.stopping) throw new WorkerStartError((await ended).code ?? 1);
  }

  private handleEnd(worker: WorkerProcess, end: ProcessEnd): void {
    this.all.delete(worker);
    this.turns.remove(worker);
    if (worker.isStopping || this.stopping) return;
    this.crashes += 1;
    this.shortLives = end.age < STABLE ? this.shortLives + 1 : 0;
    if (!worker.hasStarted) return;
    this.logger.error(`${worker.name} has ended (${end.reason}); another one takes its place`);
    void this.fill();
  }

  /** Starts workers, one after the other, until there are as many as there should be. */
  private async fill(): Promise<void> {
    if (this.filling) return;
    this.filling = true;
    for (let failures = 0; !this.stopping && this.missing > 0;) {
      await this.backOff();
      if (this.stopping || this.missing === 0) break;
      const worker = await this.fork(REPLACE_TIMEOUT);
      failures = worker.hasStarted ? 0 : failures + 1;
      if (failures === MOST_ATTEMPTS) {
        this.emit('failed', (await worker.ended).code ?? 1);
        break;
      }
    }
    this.filling = false;
  }

  private get missing(): number {
    return this.size - [...this.all].filter(({ isStopping }) => !isStopping).length;
  }

  private async backOff(): Promise<void> {
    const [shortest, longest] = BACK_OFF;
    if (this.shortLives > 1) await sleep(Math.min(shortest * 2 ** (this.shortLives - 2), longest));
  }

  private async replaceEach(): Promise<void> {
    while (this.replaceAgain && !this.stopping) {
      this.replaceAgain = false;
      this.logger.log('Replacing the workers (SIGHUP)');
      const replaced = await this.replaceRound();
      if (replaced) this.logger.log('The workers are replaced');
    }
  }

  private async replaceRound(): Promise<boolean> {
    for (const old of this.serving) {
      if (this.stopping) return false;
      const { hasStarted } = await this.fork(REPLACE_TIMEOUT);
      if (!hasStarted) {
        this.logger.error('A new worker could not start: the old ones that are left serve on');
        void this.fill();
        return false;
      }
      if (!old.hasEnded) old.stop();
      await old.ended;
    }
    return true;
  }
}
