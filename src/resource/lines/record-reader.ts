import { isUtf8 } from 'node:buffer';
import type { Resource } from '../resource.js';
import type { NewRecord, ResourceEntity } from '../store/resource-entity.js';
import { ImportedDto, problemsIn } from './imported-dto.js';

/** A line is not a valid record; the message says why and what is expected. */
export class BrokenLineError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'BrokenLineError';
  }
}

/** Reads records from lines of NDJSON with the rules of a POST body. It also rejects duplicate properties. */
export class RecordReader<Entity extends ResourceEntity> {
  private constructor(private readonly dto: ImportedDto) {}

  static async of<Entity extends ResourceEntity>(resource: Resource<Entity>): Promise<RecordReader<Entity>> {
    return new RecordReader(new ImportedDto(await resource.createDto(), await resource.recordDto?.()));
  }

  /** @throws {BrokenLineError} */
  async read(line: Uint8Array): Promise<NewRecord<Entity>> {
    const text = this.textOf(line);
    const value = this.parse(text);
    const record = await this.validate(value);
    // A line that equals its own JSON.stringify has no duplicate property.
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
      throw new BrokenLineError(problemsIn(error));
    }
  }
}

/** Rejects duplicate properties: in a file they are a sign of damage, and JSON.parse keeps the last one without a word. */
function rejectRepeatedProperties(text: string): void {
  const seen = new Set<string>();
  // The text is a flat JSON object here, so a string before a colon is a property name.
  for (const [, literal, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)) {
    if (colon === undefined) continue;
    const name = JSON.parse(literal!) as string;
    if (seen.has(name)) throw new BrokenLineError(`"${name}" comes twice; give each property once`);
    seen.add(name);
  }
}
