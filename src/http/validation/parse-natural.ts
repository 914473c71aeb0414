/**
 * The number that a decimal text without sign, leading zeros or other notation stands for; `undefined` for anything else
 * and beyond 2^53-1, where numbers stop being exact.
 */
export function parseNatural(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
