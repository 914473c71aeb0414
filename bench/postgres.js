import process from 'node:process';
import { PostgresServer, onServer } from '../dist/test/support/postgres/postgres-server.js';

/**
 * Databases on the server of `TEST_POSTGRES_URL`, or on a server that is started here and makes every commit durable.
 */
export class PostgresDatabases {
  names = [];

  constructor(url, server) {
    this.server = server;
    this.url = url;
  }

  static async open() {
    const given = process.env.TEST_POSTGRES_URL;
    if (given !== undefined) return new PostgresDatabases(given);
    const server = await PostgresServer.create();
    process.once('exit', () => void server.stop('SIGQUIT'));
    return new PostgresDatabases(server.url(), server);
  }

  /** @returns the URL of an empty database */
  async create() {
    const name = `bench_${process.pid}_${this.names.length}`;
    await onServer(this.url, (client) => client.query(`CREATE DATABASE ${name} TEMPLATE template0`));
    this.names.push(name);
    const url = new URL(this.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  async close() {
    if (this.server !== undefined) return this.server.remove();
    await onServer(this.url, async (client) => {
      for (const name of this.names) await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
    });
  }
}

/** Adds records to a database whose tables exist. */
export function fillPostgres(url, records) {
  return onServer(url, async (client) => {
    await client.query(`INSERT INTO cookies (flavor, size, wish, revision)
      SELECT 'vanilla', 'small', 'May your tests be green', n FROM generate_series(1, ${records}) AS n`);
    await client.query(`UPDATE storage SET used = ${records}, revision = ${records} WHERE resource = 'cookies'`);
  });
}
