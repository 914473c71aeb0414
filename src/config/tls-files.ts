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
  const { pem: cert, certificate } = certificateIn(certFile);
  const { pem: key, privateKey } = privateKeyIn(keyFile);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(`the private key in ${keyFile} does not belong to the certificate in ${certFile}`);
  }
  return { cert, key, expires: new Date(certificate.validTo) };
}

function certificateIn(path: string) {
  const pem = textOf(path);
  try {
    return { pem, certificate: new X509Certificate(pem) };
  } catch {
    throw new Error(`must name a file with a PEM certificate, followed by those of its authorities; ${path} has none`);
  }
}

function privateKeyIn(path: string) {
  const pem = textOf(path);
  try {
    return { pem, privateKey: createPrivateKey(pem) };
  } catch {
    throw new Error(`must name a file with a PEM private key without a passphrase; ${path} has none`);
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`must name a file that the service can read: ${(error as Error).message}`, { cause: error });
  }
}
