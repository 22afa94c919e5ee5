/**
 * The program of the seeded calls, `audit-seeds.cjs`: it makes the requests and runs the tools of the plan, whose values are
 * the marks. What comes back is read and thrown away.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { openEventLog } from './event-log.ts';
import { readPlan, type SeedCall, type SeedPlan, type SeedTool } from './plan.ts';

/** The part of the public API that the wire does not show. */
interface PublicApi {
  session<T>(options: SeedCall['session'], fn: () => T): T;
  tool<A extends unknown[], T>(name: string, fn: (...args: A) => T): (...args: A) => T;
}

const AT_ONCE = 8;
const CALL_TIMEOUT_MS = 60_000;

async function main(): Promise<void> {
  const plan = readPlan();
  if (!plan) return;
  const tell = openEventLog(plan.eventsDir, 'seeds');
  const seeds = JSON.parse(readFileSync(plan.seedsFile, 'utf8')) as SeedPlan;
  const api = createRequire(plan.register)('orangebox') as PublicApi;
  const { subscribe } = process.getBuiltinModule('node:diagnostics_channel');
  subscribe('undici:request:create', (message) =>
    tell({ t: 'own', object: 'undici request', names: ownMethods((message as { request: object }).request) }),
  );
  const seenSockets = new Set<object>();
  subscribe('net.client.socket', (message) => seenSockets.add((message as { socket: object }).socket));
  // While requests are on their way: what is put on a socket for one of them is taken off again.
  subscribe('undici:client:sendHeaders', () => {
    for (const socket of seenSockets) tell({ t: 'own', object: 'socket', names: ownMethods(socket) });
  });
  const noteRequest = (object: string, value: object): void => tell({ t: 'own', object, names: ownMethods(value) });
  const make = async (call: SeedCall): Promise<void> => {
    const send = (): Promise<void> => (call.via === 'fetch' ? viaFetch(call) : viaHttp(call, noteRequest));
    await (call.session ? api.session(call.session, send) : send()).catch(() => undefined);
  };
  // The tools first: their payloads are then sent while the calls run, not within the time that an exit has for it.
  for (const tool of seeds.tools) await runTool(api, tool).catch(() => undefined);
  for (const call of seeds.calls) if (call.alone) await make(call);
  const waiting = seeds.calls.filter(({ alone }) => !alone);
  const work = async (): Promise<void> => {
    for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) await make(call);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

async function viaFetch(call: SeedCall): Promise<void> {
  const body = call.body === undefined ? undefined : Buffer.from(call.body, 'base64');
  const response = await fetch(call.url, {
    method: call.method,
    headers: call.headers,
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    ...(body === undefined ? {} : call.inPieces ? { body: piecesOf(body), duplex: 'half' } : { body }),
  } as RequestInit);
  await response.arrayBuffer();
}

function viaHttp(call: SeedCall, note: (object: string, value: object) => void): Promise<void> {
  const http = process.getBuiltinModule('node:http');
  return new Promise((resolve) => {
    const headers: { [name: string]: string } = Object.fromEntries(call.headers);
    const request = http.request(
      call.url,
      {
        method: call.method,
        headers,
        timeout: CALL_TIMEOUT_MS,
        ...(call.auth === undefined ? {} : { auth: call.auth }),
      },
      (response: IncomingMessage) => {
        note('http response', response);
        response.resume().on('close', resolve);
      },
    );
    request.on('error', () => resolve());
    note('http request', request);
    request.end(call.body === undefined ? undefined : Buffer.from(call.body, 'base64'));
  });
}

function piecesOf(bytes: Buffer): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 1)));
      at += 1;
    },
  });
}

async function runTool(api: PublicApi, seed: SeedTool): Promise<void> {
  const run = api.tool(seed.name, async (_arguments: SeedTool['arguments']): Promise<string> => {
    if (seed.error !== undefined) throw new Error(seed.error);
    return seed.result;
  });
  await run(seed.arguments);
}

/** Methods that somebody put on the instance itself, hidden. */
function ownMethods(value: object): string[] {
  return Object.getOwnPropertyNames(value)
    .filter((name) => {
      const descriptor = Object.getOwnPropertyDescriptor(value, name);
      return typeof descriptor?.value === 'function' && !descriptor.enumerable;
    })
    .sort();
}

void main();
