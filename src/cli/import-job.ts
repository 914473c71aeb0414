import type { UnfinishedImport } from '../storage/import-progress.js';
import type { IdsOption } from './import-input.js';

export interface ImportOptions {
  readonly ids?: IdsOption;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly resume?: true;
  readonly forget?: true;
}

/** What the parts of an import work with. */
export interface ImportJob {
  readonly options: ImportOptions;
  readonly interrupt: AbortSignal;
  /** Opens the input; from its beginning each time, when it is a file. */
  readonly open: () => AsyncIterable<Buffer>;
  /** The file, when there is one: stdin can be read only once. */
  readonly file?: string;
  /** The import that is gone on with. */
  readonly resumed?: UnfinishedImport;
}
