import type { Resource } from '../../resource/resource.js';
import type { RecordReader } from '../resources/record-lines.js';
import type { AnyResourceEntity } from '../../resource/resource-entity.js';
import type { UnfinishedImport } from './import-progress.js';

export type IdsOption = 'keep' | 'assign';

export interface ImportOptions {
  readonly ids?: IdsOption;
  readonly dryRun?: true;
  readonly atomic?: true;
  readonly resume?: true;
  readonly forget?: true;
}

/** The parameters of an import. */
export interface ImportJob {
  readonly resource: Resource;
  /** Reads the lines of the resource. */
  readonly reader: RecordReader<AnyResourceEntity>;
  readonly options: ImportOptions;
  readonly interrupt: AbortSignal;
  /** Opens the input; a file is read from its beginning each time. */
  readonly open: () => AsyncIterable<Buffer>;
  /** Largest id of a record and of a `lastId` line. */
  readonly largestId: number;
  /** The path of the input file; absent for a pipe, which can be read only once. */
  readonly file?: string;
  /** The unfinished import to resume. */
  readonly resumed?: UnfinishedImport;
}
