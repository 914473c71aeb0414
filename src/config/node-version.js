// JavaScript rather than TypeScript, since it runs before anything is built, and in the syntax of old versions of Node.

/** The versions of Node that the service runs on, in the words of `engines` in package.json. */
export const SUPPORTED_NODE = '>=20.19 <21 || >=22.13';

/** The first minor version that will do of the majors that began without `require()` of ES modules. */
const FIRST_MINOR = new Map([
  [20, 19],
  [22, 13],
]);
const NEWEST_OF_THEM = 22;

/** The part before the first dot of a version: 20, 22, 24, ... */
export const nodeMajor = Number.parseInt(process.versions.node, 10);

/**
 * @param {string} [version] as in `process.versions.node`
 * @returns {string | undefined} one line that says what is wrong with it and what to do; nothing when it is supported
 */
export function nodeVersionError(version = process.versions.node) {
  const [major, minor] = version.split('.').map(Number);
  const firstMinor = FIRST_MINOR.get(major);
  const supported = firstMinor === undefined ? major > NEWEST_OF_THEM : minor >= firstMinor;
  if (supported) return undefined;
  return `Node ${version} cannot run this service: install a version ${SUPPORTED_NODE}, best the current LTS (https://nodejs.org).`;
}

/** Ends the process with one line where the version of Node is not supported. */
export function requireSupportedNode() {
  const error = nodeVersionError();
  if (error === undefined) return;
  console.error(error);
  process.exit(1);
}
