import * as nodeModule from 'node:module';

interface SourceMaps {
  readonly setSourceMapsSupport?: (enabled: boolean, options: { nodeModules: boolean }) => void;
}

/** Makes stacks name the TypeScript sources. Maps of packages would take 20 MB; Node 22.14 and newer can omit them. */
export function useSourceMaps(): void {
  const { setSourceMapsSupport } = nodeModule as SourceMaps;
  if (setSourceMapsSupport === undefined) process.setSourceMapsEnabled(true);
  else setSourceMapsSupport(true, { nodeModules: false });
}
