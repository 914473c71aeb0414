/** Parses a decimal number from 0 to 2^53-1 without sign or leading zeros; `undefined` for any other text. */
export function parseNatural(text: string): number | undefined {
  if (!/^(?:0|[1-9][0-9]{0,15})$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
