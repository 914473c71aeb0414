import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');

/**
 * The bash blocks of a document by heading and number, such as `TLS 1`. A block is not `runHere` if its first line says
 * `not-run-here`.
 * @returns {Map<string, { script: string, runHere: boolean }>}
 */
export function commandBlocks(file) {
  const blocks = new Map();
  let heading = '';
  let open;
  for (const line of readFileSync(join(ROOT, file), 'utf8').split('\n')) {
    const [fence, indent, language, word] = /^( *)```(\w*)( not-run-here)?$/.exec(line) ?? [];
    if (fence !== undefined && open !== undefined) open = undefined;
    else if (fence !== undefined) {
      open = { indent, script: '', runHere: word === undefined };
      if (language === 'bash') blocks.set(nextName(blocks, heading), open);
    } else if (open !== undefined) open.script += `${line.replace(open.indent, '')}\n`;
    else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading;
  }
  return blocks;
}

function nextName(blocks, heading) {
  let number = 1;
  while (blocks.has(`${heading} ${number}`)) number++;
  return `${heading} ${number}`;
}
