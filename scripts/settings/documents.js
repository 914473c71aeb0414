/**
 * Texts about the settings for `.env.example` and the README. A setting has `name`, `about`, `example` or `default`,
 * and `file`: whether `<NAME>_FILE` may name a file that holds the value.
 */

export const ENV_EXAMPLE = '.env.example';
export const README = 'README.md';

const HEAD = '# Every variable of the service with its default. In development a copy named .env is read.\n';

export const envExample = (settings) => settings.reduce(withEntry, HEAD);

/** `.env.example` with an additional setting. */
export function withEntry(source, { name, about, example, default: value, file }) {
  const lines = ['', `# ${about}`];
  if (value === undefined) lines.push(`# for example: ${example}`);
  lines.push(`${name}=${value ?? ''}`);
  if (file) lines.push(`${name}_FILE=`);
  return `${source}${lines.join('\n')}\n`;
}

/** The table of settings: head, line and rows. */
const TABLE = /^(\| variable .*\n\|[ |-]*\n)(?:\|.*\n)*/m;

/** The README with a table of these settings, not yet formatted. @throws {Error} if it has no such table */
export function withTable(source, settings) {
  if (!TABLE.test(source))
    throw new Error(`${README} has no table that begins with "| variable | default | what it is |"`);
  return source.replace(TABLE, (_table, head) => head + settings.map(row).join(''));
}

/** The README with an additional row; unchanged if it has no such table. */
export function withRow(source, setting) {
  return source.replace(TABLE, (table) => table + row(setting));
}

function row({ name, about, default: value, file }) {
  const names = file ? `\`${name}\`, \`${name}_FILE\`` : `\`${name}\``;
  return `| ${names} | ${value === undefined ? '' : `\`${value}\``} | ${about} |\n`;
}
