import { isUtf8 } from 'node:buffer';
import type { Resource } from '../resource.js';
import type { NewRecord, ResourceEntity } from '../store/resource-entity.js';
import { type ColumnRule, columnRules, isObviouslyValid } from './column-rules.js';
import type { ImportedDto } from './imported-dto.js';

/** A line that is no record; the message says what is wrong with it and what would be right. */
export class BrokenLineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenLineError';
  }
}

/** Reads records from lines of NDJSON, by the rules that POST has for a body; a property that comes twice is rejected, too. */
export class RecordReader<Entity extends ResourceEntity> {
  private dto?: ImportedDto;

  private constructor(
    private readonly resource: Resource<Entity>,
    private readonly rules?: ReadonlyMap<string, ColumnRule>,
  ) {}

  static async of<Entity extends ResourceEntity>(resource: Resource<Entity>): Promise<RecordReader<Entity>> {
    const entity = await resource.entity();
    return new RecordReader(resource, resource.checksSuffice ? columnRules(entity) : undefined);
  }

  /** @throws {BrokenLineError} */
  async read(line: Uint8Array): Promise<NewRecord<Entity>> {
    const text = await this.textOf(line);
    const value = await this.parse(text);
    const record = this.isObviouslyValid(value) ? value : await this.validate(value);
    // What is written as this service writes it has no property twice.
    if (JSON.stringify(value) !== text) rejectRepeatedProperties(text);
    return record as NewRecord<Entity>;
  }

  /** The class is asked about all other values. */
  isObviouslyValid(value: unknown): boolean {
    return this.rules !== undefined && isObviouslyValid(this.rules, value);
  }

  private async textOf(line: Uint8Array): Promise<string> {
    if (!isUtf8(line)) throw new BrokenLineError('it is not valid UTF-8');
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    if (text.charCodeAt(0) === 0xfeff) throw new BrokenLineError('it begins with a byte-order mark; leave that out');
    if (text.trim() === '') throw new BrokenLineError(`it is empty; each line must be ${await this.example()}`);
    return text;
  }

  private async parse(text: string): Promise<unknown> {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new BrokenLineError(
        `it is not valid JSON (${(error as Error).message}); a line must be ${await this.example()}`,
      );
    }
  }

  private async example(): Promise<string> {
    const { example } = await this.importedDto();
    return `${this.resource.name.indefinite} such as ${JSON.stringify(example)}`;
  }

  private async validate(value: unknown): Promise<object> {
    const dto = await this.importedDto();
    const { problemsOf } = await import('./imported-dto.js');
    try {
      return dto.validate(value);
    } catch (error) {
      throw new BrokenLineError(problemsOf(error));
    }
  }

  /** Loaded for the first line that needs it: it brings class-validator and the decorators of OpenAPI. */
  private async importedDto(): Promise<ImportedDto> {
    if (this.dto === undefined) {
      const { ImportedDto } = await import('./imported-dto.js');
      this.dto = new ImportedDto(await this.resource.createDto());
    }
    return this.dto;
  }
}

/** Of a property that comes twice JSON.parse keeps the last; a request may do so, but a file that does has been damaged. */
function rejectRepeatedProperties(text: string): void {
  const seen = new Set<string>();
  // The text is an object of plain values by now: a string before a colon is the name of a property.
  for (const [, literal, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)) {
    if (colon === undefined) continue;
    const name = JSON.parse(literal!) as string;
    if (seen.has(name)) throw new BrokenLineError(`"${name}" comes twice; give each property once`);
    seen.add(name);
  }
}
