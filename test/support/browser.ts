import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const CHROMIUM = process.env['CHROMIUM_PATH'] || '/usr/bin/chromium';
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** `describe` for tests with a browser. Without one they are skipped, but in CI a missing browser is a failure. */
export function describeInBrowser(title: string, tests: () => void): void {
  const canRun = existsSync(CHROMIUM) || Boolean(process.env['CI']);
  if (!canRun)
    console.warn(`Skipped: ${title} needs a browser, and there is no chromium at ${CHROMIUM} (CHROMIUM_PATH)`);
  (canRun ? describe : describe.skip)(title, tests);
}

export const launchBrowser = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
