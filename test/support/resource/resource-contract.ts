import type { DynamicModule, Type } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';

export type Body = Readonly<Record<string, unknown>>;

/** What `describeResource` must be told of a resource; the rest it reads from the OpenAPI document. */
export interface ResourceContract {
  /** Of the collection, such as `/orders`. */
  readonly path: string;
  /** A valid body of POST that has every property. */
  readonly create: Body;
  /** A valid body of PUT that changes every property it has. */
  readonly replace: Body;
  /** A valid body of PATCH that changes a record made of `create`. */
  readonly patch: Body;
  /** By the property: values for which POST and PATCH return 400, such as a string that is too long. */
  readonly invalid: Readonly<Record<string, readonly unknown[]>>;
  /** For each filter of the list: two values that the property of its name may have. */
  readonly filters?: Readonly<Record<string, readonly [unknown, unknown]>>;
  /** For each property that refers to another resource: the path of that one, whose records 1 and 2 are made before. */
  readonly references?: Readonly<Record<string, string>>;
  /** The paths of `references` with what these refer to in turn, in the order in which they can be filled. */
  readonly parents?: readonly string[];
  /** What `AppModule` does not have of itself, such as the module of a resource that only tests use. */
  readonly modules?: readonly (Type | DynamicModule)[];
  /** The migrations of these modules. */
  readonly migrations?: readonly MigrationInterface[];
}
