let lastSecond = 0;
let lastPrefix = '';

/** The time as pino puts it into a line, in ISO 8601; what is above the milliseconds is put together once a second. */
export function timestamp(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastPrefix = `,"time":"${new Date(now).toISOString().slice(0, 20)}`;
  }
  return `${lastPrefix}${String(now % 1000).padStart(3, '0')}Z"`;
}
