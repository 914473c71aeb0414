import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Whether openssl can make certificates. In CI a missing openssl is a failure. */
export const canMakeCertificates = spawnSync('openssl', ['version']).status === 0 || Boolean(process.env['CI']);

/** Makes a self-signed certificate of `localhost`, and returns the paths of the key and the certificate. */
export function makeCertificate(folder: string): { key: string; certificate: string } {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '1'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' });
  return { key, certificate };
}
