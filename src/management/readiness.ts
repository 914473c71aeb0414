/** Whether requests should be sent here; each check says "ok" or what keeps it from being met. */
export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<'running' | 'database' | 'migrations' | 'storage', string>>;
}
