/**
 * Texts about the settings for `.env.example`, the README and the compose files.
 * @typedef {object} Setting
 * @property {string} name
 * @property {string} about
 * @property {string} [example]
 * @property {string} [default]
 * @property {boolean} [file] whether `<NAME>_FILE` may name a file that holds the value
 */

export const ENV_EXAMPLE = '.env.example';
export const README = 'README.md';
export const COMPOSE = ['compose.yaml', 'compose.cluster.yaml'];

const HEAD = '# Every variable of the service with its default. In development a copy named .env is read.\n';

/** The content of `.env.example`. @param {readonly Setting[]} settings */
export const envExample = (settings) => settings.reduce(withEntry, HEAD);

/** `.env.example` with an additional setting. @param {string} source @param {Setting} setting */
export function withEntry(source, { name, about, example, default: value, file }) {
  const lines = ['', `# ${about}`];
  if (value === undefined) lines.push(`# for example: ${example}`);
  lines.push(`${name}=${value ?? ''}`);
  if (file) lines.push(`${name}_FILE=`);
  return `${source}${lines.join('\n')}\n`;
}

/** The table of settings: head, line and rows. */
const TABLE = /^(\| variable .*\n\|[ |-]*\n)(?:\|.*\n)*/m;

/**
 * The README with a table of these settings, not yet formatted.
 * @param {string} source @param {readonly Setting[]} settings
 * @throws {Error} if it has no such table
 */
export function withTable(source, settings) {
  if (!TABLE.test(source))
    throw new Error(`${README} has no table that begins with "| variable | default | what it is |"`);
  return source.replace(TABLE, (_table, head) => head + settings.map(row).join(''));
}

/**
 * The README with an additional row; unchanged if it has no such table. @param {string} source @param {Setting} setting
 */
export function withRow(source, setting) {
  return source.replace(TABLE, (table) => table + row(setting));
}

/** @param {Setting} setting */
function row({ name, about, default: value, file }) {
  const names = file ? `\`${name}\`, \`${name}_FILE\`` : `\`${name}\``;
  return `| ${names} | ${value === undefined ? '' : `\`${value}\``} | ${about} |\n`;
}

/** The features' settings of a container: this comment, and the lines below it. */
const PASSED_ON = /^( +)# .*npm run settings writes these lines\.\n(?:\1[A-Z0-9_]+: .*\n)*/m;

/**
 * A compose file that passes on these settings, from `.env` beside it; unchanged if it has no place for them.
 * @param {string} source @param {readonly Setting[]} settings of features
 */
export function withPassedOn(source, settings) {
  return source.replace(PASSED_ON, (block) => {
    const [comment = ''] = block.split('\n');
    return settings.reduce((text, setting) => text + passedOn(comment, setting), `${comment}\n`);
  });
}

/** A compose file that passes on an additional setting. @param {string} source @param {Setting} setting */
export function withOneMorePassedOn(source, setting) {
  return source.replace(PASSED_ON, (block) => block + passedOn(block, setting));
}

/** @param {string} block gives the indent @param {Setting} setting */
function passedOn(block, { name }) {
  const [indent = ''] = /^ */.exec(block) ?? [];
  return `${indent}${name}: \${${name}:-}\n`;
}
