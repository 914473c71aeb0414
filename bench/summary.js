/** Median and spread of one figure over the samples that have it; `undefined` when none has. */
export function summary(samples, figure) {
  const sorted = samples
    .map((sample) => sample[figure])
    // JSON writes a figure that is no number as null.
    .filter((value) => value !== undefined && value !== null)
    .sort((one, other) => one - other);
  if (sorted.length === 0) return undefined;
  const middle = (sorted.length - 1) / 2;
  const median = (sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}
