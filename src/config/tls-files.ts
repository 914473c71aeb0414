import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { readSettingFile } from './setting-file.js';
import { type Parse, withMessage } from './setting.js';

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly expires: Date;
}

export const certificateFile: Parse<string> = (path) => {
  certificateIn(path);
  return path;
};

export const privateKeyFile: Parse<string> = (path) => {
  privateKeyIn(path);
  return path;
};

/** @throws {Error} for a file that cannot be read or is not PEM, and for a pair that TLS cannot use */
export function readTlsFiles(certFile: string, keyFile: string): TlsFiles {
  const cert = withMessage(after('TLS_CERT_FILE'), () => certificateIn(certFile));
  const key = withMessage(after('TLS_KEY_FILE'), () => privateKeyIn(keyFile));
  if (!cert.parsed.checkPrivateKey(key.parsed)) {
    throw new Error(`the private key in ${keyFile} does not belong to the first certificate in ${certFile}`);
  }
  // Only OpenSSL checks the certificates after the first, and the strength of the key.
  const rejected = (reason: string): string => `TLS cannot use ${certFile} with ${keyFile}: ${reason}`;
  withMessage(rejected, () => createSecureContext({ cert: cert.pem, key: key.pem }));
  return { cert: cert.pem, key: key.pem, expires: new Date(cert.parsed.validTo) };
}

const after = (text: string) => (reason: string) => `${text} ${reason}`;

const certificateIn = (path: string) =>
  readPem(path, (pem) => new X509Certificate(pem), 'certificate, followed by those of its authorities');

const privateKeyIn = (path: string) => readPem(path, createPrivateKey, 'private key without a passphrase');

function readPem<T>(path: string, parse: (pem: string) => T, content: string): { pem: string; parsed: T } {
  const unreadable = after('must name a file that the service can read:');
  const pem = withMessage(unreadable, () => readSettingFile(path).toString());
  const parsed = withMessage(`must name a file with a PEM ${content}; ${path} has none`, () => parse(pem));
  return { pem, parsed };
}
