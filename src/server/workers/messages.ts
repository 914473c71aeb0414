import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Readiness } from '../../management/readiness.js';

export type MetricValues = MetricObjectWithValues<MetricValue<string>>;

/** What the primary may call in a worker, and what that returns. */
export interface WorkerCalls {
  /** Shows that the event loop turns. */
  ping: true;
  readiness: Readiness;
  metrics: MetricValues[];
}

export type MessageToWorker =
  | { readonly type: 'call'; readonly id: number; readonly name: keyof WorkerCalls }
  | { readonly type: 'logBanner'; readonly managementUrl: string }
  /** All connections that were on their way to the worker when it closed its port have been sent. */
  | { readonly type: 'noMoreConnections' }
  | { readonly type: 'yourWriteTurn'; readonly othersWait: boolean }
  /** For its write turn; sent to the worker that has it. */
  | { readonly type: 'othersWait' };

export type MessageToPrimary =
  | { readonly type: 'result'; readonly id: number; readonly value: WorkerCalls[keyof WorkerCalls] }
  /** It listens. */
  | { readonly type: 'serving' }
  | { readonly type: 'portClosed' }
  /** Its write turn ends; it wants another one. */
  | { readonly type: 'writeTurn'; readonly ends: boolean; readonly wants: boolean }
  /** What it has counted in its life, when its last request has ended. */
  | { readonly type: 'lastMetrics'; readonly metrics: MetricValues[] };
