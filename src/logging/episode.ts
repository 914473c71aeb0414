/** What has been reported of an episode so far. */
export interface EpisodeSummary {
  /** How often it was reported, the first time included. */
  readonly count: number;
  /** Milliseconds since the first report. */
  readonly milliseconds: number;
}

export interface EpisodeOptions<Event> {
  /** Milliseconds after which an open episode is looked at, again and again until it is over. */
  readonly interval: number;
  /** Called with the first report. */
  readonly began: (event: Event) => void;
  /** Called when it was reported again since it was last looked at: how often since then, and in all. */
  readonly continued?: (repeats: number, summary: EpisodeSummary) => void;
  /** Called when it is over. */
  readonly ended?: (summary: EpisodeSummary) => void;
  /** Whether it is over when a whole interval has passed without a report; default: it is. What it throws or rejects with means no. */
  readonly isOver?: () => boolean | Promise<boolean>;
}

/**
 * Something that goes wrong again and again, for the log: the first report is passed on, the others are counted. It costs no
 * timer while nothing is wrong, and the timer of an open episode keeps no process alive.
 */
export class Episode<Event = void> {
  private startedAt?: number;
  private count = 0;
  private countAtLastLook = 0;
  private timer?: NodeJS.Timeout;
  private closed = false;

  constructor(private readonly options: EpisodeOptions<Event>) {}

  get isOpen(): boolean {
    return this.startedAt !== undefined;
  }

  report(event: Event): void {
    this.count++;
    if (this.isOpen || this.closed) return;
    this.startedAt = performance.now();
    this.countAtLastLook = this.count;
    this.options.began(event);
    this.lookLater();
  }

  /** Stops looking at it; later reports are ignored. */
  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
  }

  private lookLater(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => void this.look(), this.options.interval);
    this.timer.unref();
  }

  private async look(): Promise<void> {
    const repeats = this.count - this.countAtLastLook;
    this.countAtLastLook = this.count;
    if (repeats > 0) this.options.continued?.(repeats, this.summary());
    else if (await this.isOver()) this.end();
    if (this.isOpen) this.lookLater();
  }

  private async isOver(): Promise<boolean> {
    const { isOver = () => true } = this.options;
    try {
      // Reported again while this was asked: it goes on.
      return (await isOver()) && this.count === this.countAtLastLook;
    } catch {
      return false;
    }
  }

  private end(): void {
    const summary = this.summary();
    this.startedAt = undefined;
    this.count = 0;
    this.countAtLastLook = 0;
    if (!this.closed) this.options.ended?.(summary);
  }

  private summary(): EpisodeSummary {
    return { count: this.count, milliseconds: performance.now() - (this.startedAt ?? performance.now()) };
  }
}
