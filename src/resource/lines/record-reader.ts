import { isUtf8 } from 'node:buffer';
import type { Resource } from '../resource.js';
import type { NewRecord, ResourceEntity } from '../store/resource-entity.js';
import { ImportedDto, problemsOf } from './imported-dto.js';

/** A line that is no record; the message says what is wrong with it and what would be right. */
export class BrokenLineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenLineError';
  }
}

/** Reads records from lines of NDJSON, by the rules that POST has for a body; a property that comes twice is rejected, too. */
export class RecordReader<Entity extends ResourceEntity> {
  private constructor(private readonly dto: ImportedDto) {}

  static async of<Entity extends ResourceEntity>(resource: Resource<Entity>): Promise<RecordReader<Entity>> {
    return new RecordReader(new ImportedDto(await resource.createDto()));
  }

  /** @throws {BrokenLineError} */
  async read(line: Uint8Array): Promise<NewRecord<Entity>> {
    const text = this.textOf(line);
    const value = this.parse(text);
    const record = await this.validate(value);
    // What is written as this service writes it has no property twice.
    if (JSON.stringify(value) !== text) rejectRepeatedProperties(text);
    return record as NewRecord<Entity>;
  }

  private textOf(line: Uint8Array): string {
    if (!isUtf8(line)) throw new BrokenLineError('it is not valid UTF-8');
    const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength).toString('utf8');
    if (text.charCodeAt(0) === 0xfeff) throw new BrokenLineError('it begins with a byte-order mark; leave that out');
    if (text.trim() === '') throw new BrokenLineError(`it is empty; each line must be ${this.expected()}`);
    return text;
  }

  private parse(text: string): unknown {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new BrokenLineError(
        `it is not valid JSON (${(error as Error).message}); a line must be ${this.expected()}`,
      );
    }
  }

  private expected(): string {
    return `a JSON object with ${this.dto.properties}`;
  }

  private async validate(value: unknown): Promise<object> {
    try {
      return await this.dto.validate(value);
    } catch (error) {
      throw new BrokenLineError(problemsOf(error));
    }
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
