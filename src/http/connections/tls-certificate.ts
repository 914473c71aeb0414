import { unwatchFile, watchFile } from 'node:fs';
import { Logger } from '@nestjs/common';
import { readTlsFiles, type TlsFiles } from '../../config/tls-files.js';

/** Milliseconds between two checks of the files. */
const WATCH_INTERVAL = 2000;
/** Milliseconds between two checks of the validity. The log warns from two days before its end. */
const DAY = 24 * 3600 * 1000;

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
   * Calls `use` with each new certificate. While the files do not fit together, because only one has been written, the
   * previous certificate stays.
   * @returns a function that stops watching
   */
  watch(use: (files: TlsFiles) => void): () => void {
    const read = (): void => {
      try {
        this.current = readTlsFiles(this.certFile, this.keyFile);
        use(this.current);
        this.logger.log(`Uses the changed certificate, valid until ${this.current.expires.toISOString()}`);
        this.checkValidity();
      } catch (error) {
        this.logger.error(`The changed certificate is not used: ${(error as Error).message}`);
      }
    };
    const files = [this.certFile, this.keyFile];
    for (const file of files) watchFile(file, { interval: WATCH_INTERVAL, persistent: false }, read);
    this.checkValidity();
    const daily = setInterval(() => this.checkValidity(), DAY).unref();
    return () => {
      clearInterval(daily);
      files.forEach((file) => unwatchFile(file, read));
    };
  }

  private checkValidity(): void {
    const { expires } = this.current;
    const remaining = expires.getTime() - Date.now();
    if (remaining > 2 * DAY) return;
    const problem = remaining > 0 ? 'expires soon' : 'has expired';
    this.logger.warn(`The certificate in ${this.certFile} ${problem} (${expires.toISOString()}): renew it`);
  }
}
