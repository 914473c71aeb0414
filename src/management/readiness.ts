/** Readiness of the service; each check is "ok" or the reason why it fails. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<'running' | 'database' | 'migrations' | 'storage', string>>;
}
