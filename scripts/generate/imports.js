const IMPORT = /^\s*import \{([^}]*)\} from ('.*');\n/gm;

/** Removes the names that a source does not use from its imports, and sorts the others as the linter does. */
export function withUsedImports(source) {
  const rest = source.replaceAll(IMPORT, '');
  return source.replaceAll(IMPORT, (_import, list, path) => {
    const names = list.split(',').map((name) => name.trim());
    const used = names.filter((name) => name !== '' && new RegExp(String.raw`\b${plain(name)}\b`).test(rest));
    used.sort((one, other) => (plain(one).toLowerCase() < plain(other).toLowerCase() ? -1 : 1));
    return used.length === 0 ? '' : `import { ${used.join(', ')} } from ${path};\n`;
  });
}

const plain = (name) => name.replace(/^type /, '');
