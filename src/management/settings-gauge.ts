import { Gauge, type Registry } from 'prom-client';
import { type LiveConfig, settingsInForce } from '../database/polling/live-config.js';

/** Adds the gauge of the settings that may change while the service runs. */
export function addSettingsGauge(registry: Registry, live: LiveConfig): void {
  const start = Math.floor(Date.now() / 1000 - process.uptime());
  new Gauge({
    name: 'setting_in_force_timestamp_seconds',
    help: 'Since when a setting has its value: by cli set (source "database"), or since the start ("environment")',
    labelNames: ['name', 'value', 'source'],
    // All workers have the same values.
    aggregator: 'first',
    registers: [registry],
    collect() {
      this.reset();
      for (const { name, value, stored } of settingsInForce(live.current, live.stored)) {
        const source = stored === undefined ? 'environment' : 'database';
        this.set({ name, value, source }, stored === undefined ? start : Number(stored.changed) / 1000);
      }
    },
  });
}
