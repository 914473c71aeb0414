// Writes and reads through the balancer until SIGTERM, then prints the results as JSON. Used by rolling-restart.sh.
import { Agent, request } from 'node:http';
import { URL } from 'node:url';

const [url, token, clients = '16'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const answers = {};
const acknowledged = new Set();
let going = true;
process.on('SIGTERM', () => (going = false));

function send(method, path, body) {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const sent = request(new URL(path, url), { agent, method, headers, timeout: 20_000 }, (answer) => {
      let text = '';
      answer.on('data', (piece) => (text += piece));
      answer.on('end', () => resolve({ status: answer.statusCode, text }));
      answer.on('error', (error) => resolve({ status: error.code, text }));
    });
    sent.on('timeout', () => sent.destroy(Object.assign(new Error('late'), { code: 'LATE' })));
    sent.on('error', (error) => resolve({ status: error.code, text: '' }));
    sent.end(body);
  });
}

async function count(method, path, body) {
  const { status, text } = await send(method, path, body);
  const key = `${method} ${status}`;
  answers[key] = (answers[key] ?? 0) + 1;
  return { status, text };
}

async function client() {
  while (going) {
    const { status, text } = await count('POST', '/cookies', '{"flavor":"vanilla","size":"small","wish":"Rain"}');
    if (status !== 201) continue;
    const { id } = JSON.parse(text);
    acknowledged.add(id);
    await count('GET', `/cookies/${id}`);
    await count('PATCH', `/cookies/${id}`, '{"size":"large"}');
    // Every second cookie stays, so that the acknowledged cookies can be compared with the stored ones.
    if (id % 2 === 0 && (await count('DELETE', `/cookies/${id}`)).status === 204) acknowledged.delete(id);
  }
}

await Promise.all(Array.from({ length: Number(clients) }, client));
const stored = new Set(JSON.parse((await send('GET', '/cookies')).text).map(({ id }) => id));
const total = Object.values(answers).reduce((sum, number) => sum + number, 0);
const failed = Object.entries(answers).filter(([key]) => !/ (200|201|204)$/.test(key));
const lost = [...acknowledged].filter((id) => !stored.has(id)).length;
console.log(JSON.stringify({ total, failed: Object.fromEntries(failed), stored: stored.size, lost }));
process.exitCode = failed.length > 0 || lost > 0 ? 1 : 0;
