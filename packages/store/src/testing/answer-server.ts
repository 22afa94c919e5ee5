/** A query API on loopback that answers with fixtures and notes what it was asked. Not part of the package's surface. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** What was asked. */
export interface Asked {
  path: string;
  parameters: Readonly<Record<string, string>>;
  headers: IncomingMessage['headers'];
}

/** An answer: text as it is, anything else as JSON, or whatever the function does with the response. */
export type Answer =
  | { status?: number; body?: unknown; headers?: Readonly<Record<string, string>> }
  | ((response: ServerResponse) => void);

/** Answers by path, or by a function; 404 as Go's servers say it for what has none. */
export type Answers = Readonly<Record<string, Answer>> | ((asked: Asked) => Answer | undefined);

/** A running server. */
export interface AnswerServer {
  url: string;
  asked: Asked[];
}

/** Starts a server that is stopped when the test ends. */
export async function answerServer(answers: Answers): Promise<AnswerServer> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const question: Asked = {
      path: url.pathname,
      parameters: Object.fromEntries(url.searchParams),
      headers: request.headers,
    };
    asked.push(question);
    const answer = typeof answers === 'function' ? answers(question) : answers[url.pathname];
    if (typeof answer === 'function') return answer(response);
    const { status = 200, body, headers } = answer ?? { status: 404, body: '404 page not found\n' };
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** The page that Jaeger and Grafana answer with to every path that they do not know. */
export const UI_PAGE: Answer = { status: 200, body: '<!DOCTYPE html><html><body>a page</body></html>' };
