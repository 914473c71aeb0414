/**
 * The service with parts switched off, from outside: the modules of dist with providers left out and methods replaced.
 *
 *   node bench/budget/service.js log metrics ...
 */
import 'reflect-metadata';
import process from 'node:process';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { APP_GUARD } from '@nestjs/core';

const off = new Set(process.argv.slice(2));
if (off.has('log')) process.env.LOG_LEVEL = 'silent';

// After LOG_LEVEL is set.
const { createApp } = await import('../../dist/src/app.js');
const { loadConfigFromProcess } = await import('../../dist/src/config/config.js');
const { CookiesController } = await import('../../dist/src/cookies/cookies.controller.js');
const { SETTINGS } = await import('../../dist/src/features.js');
const { tuneGarbageCollection } = await import('../../dist/src/server/garbage-collection.js');
const { STORED, STORED_JSON } = await import('./parts.js');

const switches = {
  metrics: withoutMetrics,
  serializer: withoutSerializer,
  database: withoutDatabase,
  handler: withoutHandler,
  pipes: withoutPipes,
  guard: withoutGuards,
};
for (const [part, switchOff] of Object.entries(switches)) if (off.has(part)) await switchOff();

const config = loadConfigFromProcess(SETTINGS);
const app = await createApp(config);
if (off.has('header fields')) withoutHeaderFields(app.getHttpAdapter().getInstance());
process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
await app.listen({ host: config.host, port: config.port });
tuneGarbageCollection();

async function withoutMetrics() {
  const { DurationSeries } = await import('../../dist/src/management/duration-histogram.js');
  const { RequestTracker } = await import('../../dist/src/http/connections/request-tracker.js');
  // The log, which listens there too, is off by now.
  RequestTracker.prototype.onEnd = () => {};
  DurationSeries.prototype.observe = () => {};
}

/** The handler returns the text that it would be made to; what it sets beside stays. */
async function withoutSerializer() {
  const { ResourceExchange } = await import('../../dist/src/resource/exchange.js');
  for (const method of ['record', 'created']) {
    const original = ResourceExchange.prototype[method];
    ResourceExchange.prototype[method] = function (...args) {
      original.apply(this, args);
      this.reply.header('content-type', 'application/json; charset=utf-8');
      return STORED_JSON;
    };
  }
}

function withoutHeaderFields(fastify) {
  let isPatched = false;
  fastify.addHook('onRequest', (_request, reply, done) => {
    if (!isPatched) {
      const prototype = Object.getPrototypeOf(reply);
      prototype.header = prototype.headers = function () {
        return this;
      };
      isPatched = true;
    }
    done();
  });
}

async function withoutDatabase() {
  const { ResourceStore } = await import('../../dist/src/resource/store/resource-store.js');
  const stored = () => Promise.resolve({ record: { ...STORED }, version: { epoch: 'e'.repeat(12), revision: 1 } });
  ResourceStore.prototype.find = stored;
  ResourceStore.prototype.create = stored;
}

function withoutHandler() {
  for (const method of ['get', 'create']) {
    const original = CookiesController.prototype[method];
    const constant = () => STORED_JSON;
    for (const key of Reflect.getMetadataKeys(original)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, original), constant);
    }
    CookiesController.prototype[method] = constant;
  }
}

function withoutPipes() {
  for (const method of ['get', 'create']) Reflect.defineMetadata(ROUTE_ARGS_METADATA, {}, CookiesController, method);
}

async function withoutGuards() {
  const { AuthModule } = await import('../../dist/src/auth/auth.module.js');
  const { HttpModule } = await import('../../dist/src/http/http.module.js');
  for (const module of [AuthModule, HttpModule]) {
    const providers = Reflect.getMetadata('providers', module).filter(({ provide }) => provide !== APP_GUARD);
    Reflect.defineMetadata('providers', providers, module);
  }
}
