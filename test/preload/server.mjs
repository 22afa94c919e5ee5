/** A server for the preload's tests: answers every POST, and holds those to `/hold/`. */
import { createServer } from 'node:http';

export async function startServer() {
  let held = () => undefined;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (request.url.startsWith('/hold/')) {
        response.write('{"choices":[', () => held());
        return;
      }
      response.end('{"choices":[]}');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Settles when the next held request was answered in part. */
    nextHeld: () =>
      new Promise((resolve) => {
        held = resolve;
      }),
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
