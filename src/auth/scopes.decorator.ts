import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

export const ACCESS = 'auth:access';

/** Extension with the access rule of a route in the document, until `completeDocument` replaces it. */
export const ACCESS_EXTENSION = 'x-access';

/** The access rule of a route: public, or a token with all of these scopes. */
export type Access = 'public' | readonly string[];

/** Requires a token with all of these scopes. A route with neither `@Scopes()` nor `@Public()` is always 403. */
export function Scopes(...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator {
  return access(scopes);
}

/**
 * Opens a route to requests without a token. GET and HEAD check a token that is sent. `request.user` is absent, because
 * shared caches may store the response.
 */
export function Public(): MethodDecorator & ClassDecorator {
  return access('public');
}

// The extension of a handler replaces the extension of its class, like its metadata; `@ApiBearerAuth()` would add both.
const access = (rule: Access): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS, rule), ApiExtension(ACCESS_EXTENSION, rule));
