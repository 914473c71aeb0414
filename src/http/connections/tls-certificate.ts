import { unwatchFile, watchFile } from 'node:fs';
import { Logger } from '@nestjs/common';
import { readTlsFiles, type TlsFiles } from '../../config/tls-files.js';

/** Milliseconds between two checks of the files. */
const WATCH_INTERVAL = 2000;

/** The certificate of a server, read again when one of its files changes. */
export class TlsCertificate {
  private readonly logger = new Logger('Tls');
  current: TlsFiles;

  /** @throws {Error} of `readTlsFiles` */
  constructor(
    private readonly certFile: string,
    private readonly keyFile: string,
  ) {
    this.current = readTlsFiles(certFile, keyFile);
  }

  /**
   * Calls `use` with each new certificate until the returned function is called. While the files do not fit together,
   * because only one has been written, the previous certificate stays.
   */
  watch(use: (files: TlsFiles) => void): () => void {
    const read = (): void => {
      try {
        this.current = readTlsFiles(this.certFile, this.keyFile);
        use(this.current);
        this.logger.log(`Uses the changed certificate, valid until ${this.current.expires.toISOString()}`);
        this.warnIfExpired();
      } catch (error) {
        this.logger.error(`The changed certificate is not used: ${(error as Error).message}`);
      }
    };
    const files = [this.certFile, this.keyFile];
    for (const file of files) watchFile(file, { interval: WATCH_INTERVAL, persistent: false }, read);
    this.warnIfExpired();
    return () => files.forEach((file) => unwatchFile(file, read));
  }

  private warnIfExpired(): void {
    const { expires } = this.current;
    if (expires.getTime() > Date.now()) return;
    this.logger.warn(`The certificate in ${this.certFile} has expired (${expires.toISOString()}): renew it`);
  }
}
