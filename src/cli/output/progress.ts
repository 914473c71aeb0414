/** Milliseconds between two lines. */
const INTERVAL = 5000;

/** Shows progress on stderr: a line every few seconds. */
export class Progress {
  private readonly started = performance.now();
  private lastLine = this.started;

  /**
   * @param verb such as "Exported"
   * @param unit such as "orders"
   * @param total expected number; absent for a stream
   */
  constructor(
    private readonly verb: string,
    private readonly unit: string,
    private readonly total?: number,
  ) {}

  update(count: number): void {
    if (performance.now() - this.lastLine < INTERVAL) return;
    this.lastLine = performance.now();
    const seconds = Math.round((this.lastLine - this.started) / 1000);
    const share = this.total ? ` of ${this.total} (${Math.floor((count / this.total) * 100)} %)` : '';
    process.stderr.write(`${this.verb} ${count}${share} ${this.unit} in ${seconds} s\n`);
  }
}
