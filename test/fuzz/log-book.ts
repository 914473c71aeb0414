import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess } from '../support/service-process.js';

export interface RequestLine {
  readonly requestId: string;
  readonly method: string;
  readonly route: string;
  readonly status?: number;
  readonly msg: string;
}

/** The metric that counts requests, with the labels of `LogBook.series`. */
export const REQUESTS = 'http_request_duration_seconds_count';

/** The request lines that a service has logged, by request id. */
export class LogBook {
  private readonly lines = new Map<string, RequestLine[]>();
  /** Number of lines. */
  count = 0;
  /** Number of all lines, also of requests without a status, by the series of the metric that counts them. */
  readonly series = new Map<string, number>();

  /** Reads the log of a service from now on. */
  constructor(service: ServiceProcess) {
    service.readLines((line) => this.read(line));
  }

  of(requestId: string): readonly RequestLine[] {
    return this.lines.get(requestId) ?? [];
  }

  /** Number of matching lines. */
  counted(fits: (line: RequestLine) => boolean): number {
    let count = 0;
    for (const lines of this.lines.values()) count += lines.filter(fits).length;
    return count;
  }

  forget(): void {
    this.lines.clear();
  }

  /** Waits until no line has come for longer than the log delays lines (a second), for at most ten rounds. */
  async settle(): Promise<void> {
    for (let waited = 0, before = -1; waited < 10 && before !== this.count; waited++) {
      before = this.count;
      await sleep(1300);
    }
  }

  private read(text: string): void {
    const line = parsed(text);
    if (line?.requestId === undefined || line.method === undefined) return;
    const series = `${REQUESTS}{method="${line.method}",route="${line.route}",status="${line.status ?? 'none'}"}`;
    this.series.set(series, (this.series.get(series) ?? 0) + 1);
    if (line.status === undefined) return;
    this.count += 1;
    this.lines.set(line.requestId, [...this.of(line.requestId), line]);
  }
}

function parsed(text: string): RequestLine | undefined {
  try {
    return JSON.parse(text) as RequestLine;
  } catch {
    return undefined;
  }
}
