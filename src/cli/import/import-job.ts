import type { Resource } from '../../resource/resource.js';
import type { RecordReader } from '../../resource/lines/record-reader.js';
import type { ResourceEntity } from '../../resource/store/resource-entity.js';
import type { UnfinishedImport } from './import-progress.js';

export type IdsOption = 'keep' | 'assign';

export interface ImportOptions {
  readonly ids?: IdsOption;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly resume?: true;
  readonly forget?: true;
}

/** What the parts of an import work with. */
export interface ImportJob {
  readonly resource: Resource;
  /** Reads the lines of the resource. */
  readonly reader: RecordReader<ResourceEntity>;
  readonly options: ImportOptions;
  readonly interrupt: AbortSignal;
  /** Opens the input; from its beginning each time, when it is a file. */
  readonly open: () => AsyncIterable<Buffer>;
  /** Ids of records, and the last id of an export, are at most so large. */
  readonly largestId: number;
  /** The file, when there is one: what comes through a pipe can be read only once. */
  readonly file?: string;
  /** The import that is gone on with. */
  readonly resumed?: UnfinishedImport;
}
