/** Milliseconds between two lines. */
const INTERVAL = 5000;

/** Makes a function that shows progress on stderr, a line every few seconds. A stream has no total. */
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
