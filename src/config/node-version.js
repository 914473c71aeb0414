// JavaScript in old syntax, because it runs before the build and on old versions of Node.

/** The supported versions of Node, as in `engines` of package.json. */
export const SUPPORTED_NODE = '>=20.19 <21 || >=22.14 <23 || >=23.6';

/** The first supported minor versions: earlier ones lack `require()` of ES modules, or Node-API 10 (better-sqlite3). */
const FIRST_MINOR = new Map([
  [20, 19],
  [22, 14],
  [23, 6],
]);

/** The major version: 20, 22, 24, ... */
export const nodeMajor = Number.parseInt(process.versions.node, 10);

/**
 * @param {string} [version] as in `process.versions.node`
 * @returns {string | undefined} one line with the problem and the remedy; `undefined` for a supported version
 */
export function nodeVersionError(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const firstMinor = FIRST_MINOR.get(major);
  const isSupported = firstMinor === undefined ? major > 22 : minor >= firstMinor;
  if (isSupported) return undefined;
  return `Node ${version} cannot run this service: install a version ${SUPPORTED_NODE}, preferably the current LTS (https://nodejs.org).`;
}

/** Ends the process with one line if the version of Node is not supported. */
export function requireSupportedNode() {
  const error = nodeVersionError();
  if (error === undefined) return;
  console.error(error);
  process.exit(1);
}
