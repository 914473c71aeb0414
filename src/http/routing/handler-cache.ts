import type { ExecutionContext } from '@nestjs/common';

/**
 * What a guard derives from the decorators of a route, derived once: decorators do not change. Kept by class and handler,
 * since classes with different decorators may inherit the same handler.
 */
export class HandlerCache<T> {
  private readonly byClass = new WeakMap<object, WeakMap<object, T>>();

  constructor(private readonly derive: (context: ExecutionContext) => T) {}

  get(context: ExecutionContext): T {
    const controller = context.getClass();
    let byHandler = this.byClass.get(controller);
    if (byHandler === undefined) {
      byHandler = new WeakMap();
      this.byClass.set(controller, byHandler);
    }
    const handler = context.getHandler();
    let derived = byHandler.get(handler);
    if (derived === undefined) {
      derived = this.derive(context);
      byHandler.set(handler, derived);
    }
    return derived;
  }
}
