/** json-server as its documentation shows it as a module, on `cookies.json` beside the database file. */
import process from 'node:process';
import jsonServer from 'json-server';

const { HOST, PORT, DATABASE_URL } = process.env;

const server = jsonServer.create();
server.use(jsonServer.defaults({ logger: false }));
server.use(jsonServer.router(DATABASE_URL.replace(/^sqlite:(.*)\.sqlite$/, '$1.json')));
server.listen(Number(PORT), HOST);

process.once('SIGTERM', () => process.exit(0));
