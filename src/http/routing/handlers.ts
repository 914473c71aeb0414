import { Injectable, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/internal';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A method of a controller that serves a route. */
export interface Handler {
  readonly controller: Type;
  readonly method: string;
  /** For the log: `OrdersController.list`. */
  readonly name: string;
}

/** The handlers of all modules. */
@Injectable()
export class Handlers {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  all(): Handler[] {
    const controllers = this.discovery.getControllers().map(({ metatype }) => metatype as Type | null);
    return [...new Set(controllers)].filter((controller) => controller !== null).flatMap((each) => this.of(each));
  }

  private of(controller: Type): Handler[] {
    const prototype = controller.prototype as Record<string, object>;
    return this.scanner
      .getAllMethodNames(prototype)
      .filter((method) => Reflect.hasMetadata(METHOD_METADATA, prototype[method]!))
      .map((method) => ({ controller, method, name: `${controller.name}.${method}` }));
  }
}
