import { PassThrough, type Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { ApiError, invalidRequest } from '../errors/api-error.js';
import { propertyDetail, toDto } from '../validation/validate.js';
import { BODY_LIMIT, lengthOf, MULTIPART } from './body-limit.js';
import type { RawBody } from './raw-body.js';

const FILE = 'file';

/** A form (`multipart/form-data`) with one file, the part `file`, and the fields that come before it. */
export class Upload<Fields extends object = object> {
  constructor(
    /** The fields, validated by the DTO class in `@AcceptsBody()`. */
    readonly fields: Fields,
    /** The bytes of the file. The stream ends when the whole form is valid; otherwise it fails with an `ApiError`. */
    readonly file: Readable,
    /** The name that the client gives, without folders. It may have any characters. */
    readonly filename: string,
    readonly mediaType: string,
  ) {}

  /**
   * Reads a form up to the first bytes of its file.
   * @throws {ApiError} 400 for a malformed form, a wrong field or file; the errors of `RawBody.stream()`
   */
  static read(body: RawBody): Promise<Upload> {
    return new Promise((resolve, reject) => {
      const source = body.stream();
      const { boundary = '' } = body;
      if (boundary === '') throw malformed('its Content-Type has no boundary');
      const parser = new Busboy({
        headers: { 'content-type': `${MULTIPART}; boundary="${boundary}"` },
        limits: { fieldNameSize: 100, fieldSize: BODY_LIMIT + 1, headerPairs: 20 },
      });
      const file = new PassThrough();
      const fields = new Map<string, string | string[]>();
      let fieldBytes = 0;
      let hasFile = false;
      const fail = (error: Error) => {
        const reason = error instanceof ApiError ? error : malformed(error.message);
        source.unpipe(parser);
        file.destroy(reason);
        reject(reason);
      };
      // Without this listener an error that comes before the handler reads would end the process.
      file.on('error', () => {});
      // A handler that stops reading stops the upload.
      file.on('close', () => source.destroy());
      parser.on('field', (name, value, isNameCut, isValueCut) => {
        fieldBytes += Buffer.byteLength(name) + Buffer.byteLength(value);
        if (hasFile) return fail(invalid(name, 'must come before the file'));
        if (fieldBytes > BODY_LIMIT || isNameCut || isValueCut) {
          const message = `The fields beside the file are larger than the ${lengthOf(BODY_LIMIT)} that are accepted`;
          return fail(new ApiError(413, 'PAYLOAD_TOO_LARGE', message));
        }
        // The parser replaces bytes that are not UTF-8.
        if (value.includes('\uFFFD')) return fail(invalid(name, 'must be valid UTF-8, without U+FFFD'));
        const others = fields.get(name);
        if (Array.isArray(others)) others.push(value);
        else fields.set(name, others === undefined ? value : [others, value]);
      });
      parser.on('file', (name, part, filename, _encoding, mediaType) => {
        part.on('error', fail);
        if (name !== FILE) return fail(invalid(name, `is not known here; the file is the part "${FILE}"`));
        if (hasFile) return fail(invalid(FILE, 'must be one file'));
        hasFile = true;
        fieldsOf(body, fields).then((valid) => {
          part.pipe(file, { end: false });
          resolve(new Upload(valid, file, filename, mediaType));
        }, fail);
      });
      parser.on('finish', () => (hasFile ? file.end() : fail(invalid(FILE, 'must be sent'))));
      parser.on('error', fail);
      source.on('error', fail);
      source.pipe(parser);
    });
  }
}

async function fieldsOf({ accepted }: RawBody, fields: ReadonlyMap<string, unknown>): Promise<object> {
  if (accepted.fields !== undefined) return toDto(accepted.fields, Object.fromEntries(fields), propertyDetail);
  const [name] = fields.keys();
  if (name !== undefined) throw invalid(name, 'is not known here; the form has a file and no fields');
  return {};
}

const invalid = (name: string, message: string): ApiError => invalidRequest([propertyDetail([name], message)]);

function malformed(reason: string): ApiError {
  return new ApiError(400, 'MALFORMED_FORM', `The body is not a valid form: ${reason}`);
}
