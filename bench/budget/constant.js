/**
 * Programs that answer every request with the same record, on less and less of the way.
 *
 *   node bench/budget/constant.js nest|fastify|node|net
 */
import 'reflect-metadata';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import process from 'node:process';
import { STORED_JSON } from './parts.js';

const { HOST, PORT } = process.env;
const port = Number(PORT);
const TYPE = 'application/json; charset=utf-8';

const programs = { nest, fastify, node, net };
await programs[process.argv[2]]();
process.once('SIGTERM', () => process.exit(0));

async function nest() {
  const { Controller, Get, Module, Post } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { FastifyAdapter } = await import('@nestjs/platform-fastify');
  class ConstantController {
    answer() {
      return STORED_JSON;
    }
    create() {
      return STORED_JSON;
    }
  }
  const { prototype } = ConstantController;
  Get(':id')(prototype, 'answer', Object.getOwnPropertyDescriptor(prototype, 'answer'));
  Post()(prototype, 'create', Object.getOwnPropertyDescriptor(prototype, 'create'));
  Controller('cookies')(ConstantController);
  class ConstantModule {}
  Module({ controllers: [ConstantController] })(ConstantModule);
  const app = await NestFactory.create(ConstantModule, new FastifyAdapter(), { logger: false });
  await app.listen({ host: HOST, port });
}

async function fastify() {
  const app = (await import('fastify')).default();
  app.get('/cookies/:id', (_request, reply) => reply.send(STORED_JSON));
  app.post('/cookies', (_request, reply) => reply.code(201).send(STORED_JSON));
  await app.listen({ host: HOST, port });
}

function node() {
  const headers = { 'content-type': TYPE, 'content-length': STORED_JSON.length };
  const server = createHttpServer((request, response) => {
    request.on('end', () => response.writeHead(request.method === 'POST' ? 201 : 200, headers).end(STORED_JSON));
    request.resume();
  });
  server.listen(port, HOST);
}

/** The requests are those of the load generator: each comes in one piece, by itself. */
function net() {
  const answer = (status) =>
    [
      `HTTP/1.1 ${status}`,
      `content-type: ${TYPE}`,
      `content-length: ${STORED_JSON.length}`,
      'cache-control: private, no-cache',
      'vary: Authorization',
      'etag: "eeeeeeeeeeee-1000"',
      'x-request-id: 00000000-0000-0000-0000-000000000000',
      'x-content-type-options: nosniff',
      'Date: Thu, 01 Jan 2026 00:00:00 GMT',
      'Connection: keep-alive',
      'Keep-Alive: timeout=72',
      '',
      STORED_JSON,
    ].join('\r\n');
  const [ok, created] = [answer('200 OK'), answer('201 Created')];
  const POST = 'P'.charCodeAt(0);
  const server = createNetServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => socket.write(bytes[0] === POST ? created : ok, 'latin1'));
  });
  server.listen(port, HOST);
}
