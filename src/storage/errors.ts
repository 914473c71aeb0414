/** The resource holds as many records as it may. Sent as 507 "Storage is full". */
export class StorageFullError extends Error {
  constructor(readonly resource: string) {
    super('Storage is full');
    this.name = 'StorageFullError';
  }
}
