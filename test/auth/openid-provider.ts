import type { RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { Provider } from 'oidc-provider';
import { type LocalServer, startServer } from '../support/local-server.js';

export const AUDIENCE = 'https://cookies.example.com';
const CLIENT = { id: 'baker', secret: 'a secret of the test only' };

type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'ES384' | 'EdDSA';

export async function privateJwk(alg: Algorithm, kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), alg, kid, use: 'sig' };
}

const ID_TOKEN_KEY = await privateJwk('RS256', 'id-tokens');

/** A real OpenID provider with a separate port. It can change its keys, stop and start again. */
export class OpenIdProvider {
  readonly requests: string[] = [];
  private server?: LocalServer;
  private listener!: (...exchange: Parameters<RequestListener>) => unknown;

  static async start(keys: JWK[]): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider();
    await provider.listen();
    provider.setKeys(keys);
    return provider;
  }

  get issuer(): string {
    return this.server!.url;
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
    const port = this.server && Number(new URL(this.issuer).port);
    this.server = await startServer((request, response) => {
      this.requests.push(request.url!);
      this.listener(request, response);
    }, port);
  }

  async stop(): Promise<void> {
    await this.server![Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

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
