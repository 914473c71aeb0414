import { dirname, join, relative, sep } from 'node:path';

const USES_PLACE = /import\.meta\.(?:url|dirname|filename)|createRequire|__dirname|__filename/;
const OWN_PLACE = /(?:const|let|var)\s+__(?:dirname|filename)\b/;

/**
 * Keeps modules from seeing that they lie in a bundle: `import.meta.url`, `__dirname` and the like are what they were, and what a
 * module requires through `createRequire` comes from the bundle, too. Otherwise it would be a second copy, with a state of its own.
 * @param root of the project
 * @param compiled the folder in which the compiler has put the modules of the service
 * @param output the folder of the bundle; a module of the service has its place there, as if it was copied
 */
export function modulePlaces(root, compiled, output) {
  const placeOf = (id) => {
    const place = id.startsWith(compiled + sep) ? join(output, relative(compiled, id)) : id;
    return encodeURI(relative(output, place).replaceAll(sep, '/')).replace(/[?#]/g, encodeURIComponent);
  };
  return {
    name: 'module-places',
    transform: {
      filter: { code: USES_PLACE },
      handler(code, id) {
        const file = JSON.stringify(placeOf(id));
        const folder = JSON.stringify(placeOf(dirname(id)));
        const withPlaces = code
          .replace(/^(?:const|let|var) require = createRequire\(import\.meta\.url\);$/m, '')
          .replace(/createRequire\(import\.meta\.url\)\((?=['"])/g, 'require(')
          .replaceAll('import.meta.url', `__urlOf(${file})`)
          .replaceAll('import.meta.filename', `__pathOf(${file})`)
          .replaceAll('import.meta.dirname', `__pathOf(${folder})`);
        if (!/__dirname|__filename/.test(code) || OWN_PLACE.test(code)) return { code: withPlaces, map: null };
        const names = `;var __filename = __pathOf(${file}), __dirname = __pathOf(${folder});`;
        // On the line that is there, so that all others keep their numbers.
        return { code: withPlaces.replace(/^(?:\s*['"]use strict['"];?)?/, `$&${names}`), map: null };
      },
    },
  };
}

/** What stands at the top of a file of the bundle, for what `modulePlaces` has put into modules. */
export function placeFunctions({ fileName }) {
  const output = JSON.stringify('../'.repeat(fileName.split('/').length - 1) || './');
  return [
    `const __urlOf = (path) => new URL(path, new URL(${output}, import.meta.url)).href;`,
    `const __pathOf = (path) => process.getBuiltinModule('node:url').fileURLToPath(__urlOf(path));`,
  ].join('\n');
}
