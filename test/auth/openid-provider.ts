import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { Provider } from 'oidc-provider';

export const AUDIENCE = 'https://cookies.example.com';
const CLIENT = { id: 'baker', secret: 'a secret of the test only' };

type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA';

/** A private key as a JWK with a key id. */
export async function privateJwk(alg: Algorithm, kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, kid, use: 'sig' };
}

const ID_TOKEN_KEY = await privateJwk('RS256', 'id-tokens');

/** A real OpenID provider with a separate port. It can change its keys, stop and start again. */
export class OpenIdProvider {
  /** Paths of all requests. */
  readonly requests: string[] = [];
  private server!: Server;
  private port = 0;
  private listener!: (...exchange: Parameters<RequestListener>) => unknown;

  static async start(keys: JWK[]): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider();
    await provider.listen();
    provider.setKeys(keys);
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Publishes these keys, and signs with the first one. */
  setKeys(keys: JWK[]): void {
    const alg = keys[0]!.alg as Algorithm;
    const provider = new Provider(this.issuer, {
      // The provider requires an RS256 key for ID tokens, which the tests do not use.
      jwks: { keys: [...keys, ID_TOKEN_KEY] as never },
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            audience,
            scope: 'cookies:read cookies:write',
            accessTokenFormat: 'jwt',
            accessTokenTTL: 600,
            jwt: { sign: { alg } as never },
          }),
        },
      },
    });
    this.listener = provider.callback();
  }

  async listen(): Promise<void> {
    this.server = createServer((request, response) => {
      this.requests.push(request.url!);
      this.listener(request, response);
    });
    await new Promise<void>((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  /** An access token of the grant client credentials. */
  async token({ scope = 'cookies:read cookies:write', resource = AUDIENCE } = {}): Promise<string> {
    const response = await fetch(`${this.issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${CLIENT.id}:${encodeURIComponent(CLIENT.secret)}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
    });
    const { access_token: token, ...others } = (await response.json()) as { access_token?: string };
    if (token === undefined) throw new Error(`No token: ${JSON.stringify(others)}`);
    return token;
  }
}
