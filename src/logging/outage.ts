interface OutageOptions {
  /** Milliseconds between two checks of an outage. */
  readonly interval: number;
  /** Called with the first report. */
  readonly onStart: (message: string) => void;
  /** Called with the number of reports since the last check, if there were any. */
  readonly onRepeat?: (repeats: number) => void;
  /** Called with the number of all reports, and the time since the first report. */
  readonly onEnd?: (summary: { readonly count: number; readonly milliseconds: number }) => void;
}

/** A repeated problem for the log: it passes the first report on and counts the others. Otherwise it has no timer. */
export class Outage {
  private startedAt = 0;
  private count = 0;
  private repeats = 0;
  /** Set during an outage. */
  private timer?: NodeJS.Timeout;
  private closed = false;

  constructor(private readonly options: OutageOptions) {}

  report(message: string): void {
    this.count++;
    this.repeats++;
    if (this.timer !== undefined || this.closed) return;
    this.startedAt = performance.now();
    this.count = 1;
    this.repeats = 0;
    this.options.onStart(message);
    this.timer = setInterval(() => this.check(), this.options.interval).unref();
  }

  /** Stops the checks; later reports are ignored. */
  close(): void {
    this.closed = true;
    clearInterval(this.timer);
  }

  /** The outage is over after one interval without a report. */
  private check(): void {
    const { repeats } = this;
    this.repeats = 0;
    if (repeats > 0) return this.options.onRepeat?.(repeats);
    clearInterval(this.timer);
    this.timer = undefined;
    this.options.onEnd?.({ count: this.count, milliseconds: performance.now() - this.startedAt });
  }
}
