import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** By file; nothing where a file has none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * From now on the stacks of errors name the places in the TypeScript sources, where the running file has a source map beside it. A map
 * is read for the first stack that needs it; `--enable-source-maps` of Node reads all of them at the start, which takes 20 MB.
 */
export function showSourcePositions(): void {
  if (process.sourceMapsEnabled) return;
  Error.prepareStackTrace = (error, frames) =>
    [String(error), ...frames.map((frame) => `    at ${withSourcePosition(frame)}`)].join('\n');
}

function withSourcePosition(frame: NodeJS.CallSite): string {
  const text = (frame as { toString(): string }).toString();
  const file = frame.getFileName();
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith('file:') || line === null || column === null) return text;
  const origin = mapOf(file)?.findEntry(line - 1, column - 1);
  if (origin === undefined || !('originalSource' in origin)) return text;
  const { originalSource, originalLine, originalColumn } = origin;
  const source = new URL(originalSource, file).href;
  return text.replace(`${file}:${line}:${column}`, `${source}:${originalLine + 1}:${originalColumn + 1}`);
}

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(`${fileURLToPath(file)}.map`));
  return maps.get(file);
}

function readMap(path: string): SourceMap | undefined {
  try {
    return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8')) as never) : undefined;
  } catch {
    // A stack without the places of the sources is better than an error in place of an error.
    return undefined;
  }
}
