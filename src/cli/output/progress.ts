import { SingleBar } from 'cli-progress';

/** Milliseconds between two lines when stderr is not a terminal. */
const INTERVAL = 5000;

/** Shows progress on stderr: on a terminal a bar, which `using` removes, otherwise a line every few seconds. */
export class Progress implements Disposable {
  private readonly bar?: SingleBar;
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
  ) {
    if (!process.stderr.isTTY || !total) return;
    this.bar = new SingleBar({
      format: `${verb} {value} of {total} ${unit} [{bar}] {percentage} %, {eta_formatted} left`,
      stream: process.stderr,
      hideCursor: null,
      clearOnComplete: true,
      // The bar would handle SIGINT itself.
      gracefulExit: false,
    });
    this.bar.start(total, 0);
  }

  update(count: number): void {
    if (this.bar !== undefined) return this.bar.update(count);
    if (performance.now() - this.lastLine < INTERVAL) return;
    this.lastLine = performance.now();
    const seconds = Math.round((this.lastLine - this.started) / 1000);
    const share = this.total ? ` of ${this.total} (${Math.floor((count / this.total) * 100)} %)` : '';
    process.stderr.write(`${this.verb} ${count}${share} ${this.unit} in ${seconds} s\n`);
  }

  [Symbol.dispose](): void {
    this.bar?.stop();
  }
}
