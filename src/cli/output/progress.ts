/** Milliseconds between two lines. */
const INTERVAL = 5000;

/**
 * Shows progress on stderr: a line every few seconds.
 * @param verb such as "Exported"
 * @param unit such as "orders"
 * @returns the function to call with each count; without a total for a stream
 */
export function progressOf(verb: string, unit: string): (count: number, total?: number) => void {
  const started = performance.now();
  let lastLine = started;
  return (count, total) => {
    if (performance.now() - lastLine < INTERVAL) return;
    lastLine = performance.now();
    const seconds = Math.round((lastLine - started) / 1000);
    const share = total ? ` of ${total} (${Math.floor((count / total) * 100)} %)` : '';
    process.stderr.write(`${verb} ${count}${share} ${unit} in ${seconds} s\n`);
  };
}
