import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';

export const ACCESS = 'auth:access';

/** Extension with the access rule of a route in the document, until `completeDocument` replaces it. */
export const ACCESS_EXTENSION = 'x-access';

/** The access rule of a route: public, or a token with all of these scopes. */
export type Access = 'public' | readonly string[];

/** Requires a token with all of these scopes. A route with neither `@Scopes()` nor `@Public()` is always 403. */
export const Scopes = (...scopes: [string, ...string[]]): MethodDecorator & ClassDecorator => access(scopes);

/**
 * Opens a route to requests without a token. GET and HEAD check a token that is sent. `request.user` is absent, because
 * shared caches may store the response.
 */
export const Public = (): MethodDecorator & ClassDecorator => access('public');

// The extension of a handler replaces the extension of its class, like its metadata; `@ApiBearerAuth()` would add both.
const access = (rule: Access): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ACCESS, rule), extension(rule));

/** Swagger's decorator fails for a class with a property that is null, such as that of `@WebSocketServer()`. */
function extension(rule: Access): MethodDecorator & ClassDecorator {
  const decorate = ApiExtension(ACCESS_EXTENSION, rule) as (...target: unknown[]) => void;
  return (target: object, ...method: unknown[]) => {
    const { prototype = {} } = target as { prototype?: object };
    if (!Object.values(prototype).includes(null)) return decorate(target, ...method);
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof descriptor.value === 'function') decorate(prototype, name, descriptor);
    }
  };
}
