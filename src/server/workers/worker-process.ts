import type { Worker } from 'node:cluster';
import { standardOutput } from '../../logging/standard-output.js';
import { forwardLines } from '../../logging/forward-lines.js';
import { closeLostConnections } from './lost-connections.js';
import type { MessageToPrimary, MessageToWorker, MetricValues, WorkerCalls } from './messages.js';

/** Milliseconds for which a worker is waited for: a little longer than it waits for the database itself. */
const CALL_TIMEOUT = 2500;

/** How a process has ended. */
export interface ProcessEnd {
  /** Absent after a signal. */
  readonly code?: number;
  /** Such as `exit code 1` or `SIGKILL`. */
  readonly reason: string;
  /** Milliseconds since its start. */
  readonly age: number;
}

/** A worker, as the primary sees it. */
export class WorkerProcess {
  readonly name: string;
  /** Whether it serves, as soon as it does or has ended before. */
  readonly started: Promise<boolean>;
  /** Resolves when it has ended and its last line of the log is here. */
  readonly ended: Promise<ProcessEnd>;
  hasStarted = false;
  hasEnded = false;
  /** Whether it was asked to stop. */
  isStopping = false;
  private hasClosedPort = false;
  /** Called with what it has counted, when it stops in good order. */
  onLastMetrics: (metrics: MetricValues[]) => void = () => {};

  onWriteTurn: (message: Extract<MessageToPrimary, { type: 'writeTurn' }>) => void = () => {};

  private readonly startedAt = performance.now();
  private readonly calls = new Map<number, (value?: never) => void>();
  private lastCall = 0;
  private resolveStarted!: (serves: boolean) => void;

  constructor(private readonly worker: Worker) {
    this.name = `Worker ${worker.id} (process ${worker.process.pid})`;
    this.started = new Promise((resolve) => (this.resolveStarted = resolve));
    this.ended = new Promise((resolve) => {
      worker.process.once('close', (code, signal) => {
        this.hasEnded = true;
        this.resolveStarted(false);
        for (const settle of [...this.calls.values()]) settle();
        const reason = signal ?? `exit code ${code}`;
        resolve({ code: code ?? undefined, reason, age: performance.now() - this.startedAt });
      });
    });
    closeLostConnections(worker.process);
    forwardLines(worker.process.stdout!, standardOutput());
    worker.on('message', (message: MessageToPrimary) => this.receive(message));
    // A message to a worker that has just ended; its end is seen by `ended`.
    worker.on('error', () => {});
  }

  get isServing(): boolean {
    return this.hasStarted && !this.isStopping && !this.hasClosedPort && !this.hasEnded;
  }

  /** What a call in the worker returns; `undefined` where it does not in time. */
  call<K extends keyof WorkerCalls>(name: K): Promise<WorkerCalls[K] | undefined> {
    const id = ++this.lastCall;
    return new Promise((resolve) => {
      const settle = (value?: WorkerCalls[K]): void => {
        clearTimeout(timer);
        this.calls.delete(id);
        resolve(value);
      };
      const timer = setTimeout(settle, CALL_TIMEOUT);
      this.calls.set(id, settle);
      this.send({ type: 'call', id, name });
    });
  }

  send(message: MessageToWorker): void {
    if (this.worker.isConnected()) this.worker.send(message);
  }

  /** Asks it to finish its requests and to end. One that does not serve yet ends immediately. */
  stop(): void {
    this.isStopping = true;
    this.worker.process.kill('SIGTERM');
  }

  kill(): void {
    this.isStopping = true;
    this.worker.process.kill('SIGKILL');
  }

  private receive(message: MessageToPrimary): void {
    switch (message.type) {
      case 'serving':
        this.hasStarted = true;
        return this.resolveStarted(true);
      case 'result':
        return this.calls.get(message.id)?.(message.value as never);
      case 'portClosed':
        this.hasClosedPort = true;
        // Messages keep their order: what was sent to the worker before has arrived when this does.
        return this.send({ type: 'noMoreConnections' });
      case 'writeTurn':
        return this.onWriteTurn(message);
      case 'lastMetrics':
        return this.onLastMetrics(message.metrics);
    }
  }
}
