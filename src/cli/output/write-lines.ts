import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Config } from '../../config/config.js';
import { PRIVATE_FILE } from '../../database/sqlite/file/private-file.js';
import { Failure } from '../command-errors.js';
import { draftFolder } from '../sqlite-file/draft-folder.js';
import { outputFile, standardOutput } from './destination.js';
import { replaceFile } from './replace-file.js';

/** Number and SHA-256 of lines of NDJSON. Both engines give the same line for a record, so checksums agree. */
export class LineSummary {
  count = 0;
  private readonly hash = createHash('sha256');

  /** @returns the lines of the objects as one text */
  add(objects: readonly object[]): string {
    const text = objects.map((each) => `${JSON.stringify(each)}\n`).join('');
    this.hash.update(text);
    this.count += objects.length;
    return text;
  }

  /** The SHA-256 of all lines in hexadecimal digits; to be called once, at the end. */
  digest(): string {
    return this.hash.digest('hex');
  }
}

/**
 * Writes lines to a file or stdout, packed with gzip for a name that ends with `.gz`.
 * @param output the option `--output`; default: stdout
 * @returns `false` when the reader has closed the pipe, as `head` does
 * @throws {UsageError} for a place that cannot be written, such as the database
 */
export async function writeLines(
  config: Config,
  output: string | undefined,
  lines: AsyncGenerator<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const path = output === undefined ? undefined : await outputFile(config, output);
  const source = [Readable.from(lines), ...(output?.endsWith('.gz') ? [createGzip()] : [])];
  try {
    if (path === undefined) {
      await pipeline([...source, standardOutput()], { signal });
      return true;
    }
    await using folder = await draftFolder(`${path}.partial-`);
    const draft = join(folder.path, 'draft');
    await pipeline([...source, createWriteStream(draft, { flags: 'wx', mode: PRIVATE_FILE })], { signal });
    await replaceFile(draft, path);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (path === undefined && (error as NodeJS.ErrnoException).code === 'EPIPE') return false;
    const rest = path === undefined ? '' : ' The incomplete file was removed.';
    throw new Failure(`${output ?? 'The output'} is not complete: ${(error as Error).message}.${rest}`, error);
  }
}
