export interface OutageOptions<Event> {
  /** Milliseconds between two checks of an outage. */
  readonly interval: number;
  /** Called with the first report. */
  readonly onStart: (event: Event) => void;
  /** Called with the number of reports since the last check, if there were any. */
  readonly onRepeat?: (repeats: number) => void;
  /** Called with the number of all reports, and the time since the first report. */
  readonly onEnd?: (summary: { readonly count: number; readonly milliseconds: number }) => void;
}

/**
 * A repeated problem for the log: it passes the first report on and counts the others. Without a problem it has no
 * timer, and its timer does not keep the process running.
 */
export class Outage<Event = void> {
  private startedAt?: number;
  private count = 0;
  private countAtLastCheck = 0;
  private timer?: NodeJS.Timeout;
  private closed = false;

  constructor(private readonly options: OutageOptions<Event>) {}

  get isOpen(): boolean {
    return this.startedAt !== undefined;
  }

  report(event: Event): void {
    this.count++;
    if (this.isOpen || this.closed) return;
    this.startedAt = performance.now();
    this.countAtLastCheck = this.count;
    this.options.onStart(event);
    this.scheduleCheck();
  }

  /** Stops the checks; later reports are ignored. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private scheduleCheck(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => this.check(), this.options.interval);
    this.timer.unref();
  }

  /** The outage is over after one interval without a report. */
  private check(): void {
    const repeats = this.count - this.countAtLastCheck;
    this.countAtLastCheck = this.count;
    if (repeats === 0) return this.end();
    this.options.onRepeat?.(repeats);
    this.scheduleCheck();
  }

  private end(): void {
    const summary = { count: this.count, milliseconds: performance.now() - this.startedAt! };
    this.startedAt = undefined;
    this.count = 0;
    this.countAtLastCheck = 0;
    if (!this.closed) this.options.onEnd?.(summary);
  }
}
