import { stat } from 'node:fs/promises';
import { Progress } from '../output/progress.js';
import { copyDatabase } from '../sqlite-file/file-copy.js';

export interface CopyOptions {
  /** Opens the source read-only. */
  readonly readonly: boolean;
  readonly interrupt: AbortSignal;
}

/** Copies a database and shows the progress. */
export async function copy(from: string, to: string, { readonly, interrupt }: CopyOptions): Promise<void> {
  const { size } = await stat(from);
  const bar = new Progress({ done: 'Copied', unit: 'KiB' }, Math.ceil(size / 1024));
  const progress = (done: number, total: number): void => {
    interrupt.throwIfAborted();
    bar.update(Math.round((done / total) * (size / 1024)));
  };
  try {
    await copyDatabase(from, to, { readonly, progress });
  } finally {
    bar.stop();
  }
}
