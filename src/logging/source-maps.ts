import * as nodeModule from 'node:module';

interface SourceMaps {
  readonly setSourceMapsSupport?: (enabled: boolean, options: { nodeModules: boolean }) => void;
}

/** From now on stacks name the places in the TypeScript sources. Node 22.14 and newer leave out the maps of packages: they take 20 MB. */
export function useSourceMaps(): void {
  const { setSourceMapsSupport } = nodeModule as SourceMaps;
  if (setSourceMapsSupport === undefined) process.setSourceMapsEnabled(true);
  else setSourceMapsSupport(true, { nodeModules: false });
}
