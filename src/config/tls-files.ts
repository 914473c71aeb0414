import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Parse } from './setting.js';

/** The certificate chain of a server and its private key, both in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  /** End of the validity of the certificate. */
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

/** @throws {Error} for a file that cannot be read or is not PEM, and for a key of another certificate */
export function readTlsFiles(certFile: string, keyFile: string): TlsFiles {
  const { pem: cert, parsed: certificate } = settingOf('TLS_CERT_FILE', () => certificateIn(certFile));
  const { pem: key, parsed: privateKey } = settingOf('TLS_KEY_FILE', () => privateKeyIn(keyFile));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`the private key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  return { cert, key, expires: new Date(certificate.validTo) };
}

/** Puts the name of the setting before the message of an error. */
function settingOf<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${name} ${(error as Error).message}`, { cause: error });
  }
}

const certificateIn = (path: string) =>
  readPem(path, (pem) => new X509Certificate(pem), 'certificate, followed by those of its authorities');

const privateKeyIn = (path: string) => readPem(path, createPrivateKey, 'private key without a passphrase');

function readPem<T>(path: string, parse: (pem: string) => T, content: string): { pem: string; parsed: T } {
  let pem: string;
  try {
    pem = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`must name a file that the service can read: ${(error as Error).message}`, { cause: error });
  }
  try {
    return { pem, parsed: parse(pem) };
  } catch {
    throw new Error(`must name a file with a PEM ${content}; ${path} has none`);
  }
}
