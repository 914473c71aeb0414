/** The resources of `shared`, in the order of their starts. */
const started: { running?: AsyncDisposable }[] = [];

/**
 * A resource for all tests of a block, such as a service: it starts before them and is disposed of after them. The last
 * one to start ends first.
 */
export function shared<T extends AsyncDisposable>(start: () => Promise<T>): T {
  const resource: { running?: T } = {};
  beforeAll(async () => {
    started.push(resource);
    resource.running = await start();
  });
  afterAll(() => started.pop()?.running?.[Symbol.asyncDispose]());
  return new Proxy({} as T, {
    get: (_target, name): unknown => {
      const value: unknown = Reflect.get(resource.running!, name);
      return typeof value === 'function' ? value.bind(resource.running) : value;
    },
  });
}
