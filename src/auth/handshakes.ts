import type { IncomingMessage, Server } from 'node:http';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { BODY_LIMIT } from '../http/body/body-limit.js';
import { type Connections, connectionsOf } from '../http/connections/connections.js';
import { ApiError } from '../http/errors/api-error.js';
import { errorResponse } from '../http/errors/error-response.js';
import { requestId } from '../http/messages/request.js';
import { unauthenticated } from './auth-errors.js';
import { tokensOfSockets } from './principal.js';
import { tokenOf, TokenVerifier } from './token-verifier.js';

/** A browser cannot set `Authorization`: `new WebSocket(url, ['bearer', token])` sends the token as a subprotocol. */
const SUBPROTOCOL = /^bearer\s*,\s*([\w.-]+)$/;

/** Largest delay of a timer, in milliseconds. */
const LONGEST_DELAY = 2 ** 31 - 1;

/** A WebSocket of the package `ws`. */
interface WebSocket {
  close(code: number, reason: string): void;
  once(event: 'close', listener: () => void): unknown;
}

type Done = (isAccepted: boolean, status?: number, body?: string, headers?: Record<string, string>) => void;

/** Rejects the handshake of a WebSocket without a valid token. docs/transports.md has Nest's adapter that uses it. */
@Injectable()
export class Handshakes {
  /** Options for a server of the package `ws`. */
  readonly options = {
    maxPayload: BODY_LIMIT,
    // One message or ping in a turn: a packet of 64 KiB may have 10 000, and one client would stop all others.
    allowSynchronousEvents: false,
    verifyClient: ({ req }: { req: IncomingMessage }, done: Done): void => {
      const id = requestId(req);
      this.verify(req, id).then(
        () => done(true),
        (error: unknown) => this.reject(error, req, id, done),
      );
    },
  };

  private readonly verified = new WeakMap<IncomingMessage, { readonly token: string; readonly expiresAt: number }>();

  constructor(
    private readonly verifier: TokenVerifier,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  /** Gives the messages of an open WebSocket the rights of its token, and closes it when the token expires. */
  opened(socket: WebSocket, handshake: IncomingMessage): void {
    const { token, expiresAt } = this.verified.get(handshake)!;
    tokensOfSockets.set(socket, token);
    const remaining = Math.min(Math.max(expiresAt * 1000 - Date.now(), 0), LONGEST_DELAY);
    const timer = setTimeout(() => socket.close(1008, 'The token has expired'), remaining);
    socket.once('close', () => clearTimeout(timer));
  }

  private async verify(request: IncomingMessage, id: string): Promise<void> {
    const token = tokenOf(request) ?? SUBPROTOCOL.exec(request.headers['sec-websocket-protocol'] ?? '')?.[1];
    if (token === undefined) throw unauthenticated();
    const { expiresAt } = await this.verifier.verify(token);
    this.verified.set(request, { token, expiresAt });
    if (!this.connections.upgrade(request, id)) {
      throw new ApiError(400, 'BAD_REQUEST', 'Another request is in progress on this connection');
    }
  }

  private reject(error: unknown, request: IncomingMessage, id: string, done: Done): void {
    const { status, headers, body } = errorResponse(error, id);
    const { 'content-type': type, ...others } = headers;
    this.connections.requests.recordRaw(status, id, 'GET', request.socket.remoteAddress);
    done(false, status, JSON.stringify(body), { ...others, 'Content-Type': type! });
  }

  private get connections(): Connections {
    return connectionsOf(this.adapterHost.httpAdapter.getHttpServer() as Server);
  }
}
