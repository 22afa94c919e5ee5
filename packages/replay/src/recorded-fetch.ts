/** A `fetch` that gives the attempts of one recorded call, in order, and never reaches for the network. */
import { headerOf } from '@orangebox/codec';
import { type Exchange, type HeaderList, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { abortError, outcomeOf } from './recorded-failure.ts';
import { isHopByHop, toResponse } from './recorded-message.ts';
import { type MatchRung, RecordedRequest, targetOf } from './request-match.ts';
import type { RecordedReplay } from './types.ts';

/** What the fetch did so far. */
export interface FetchLog {
  served: RecordedReplay['served'];
  /** The weakest match of all requests. */
  match: RecordedReplay['requestMatch'];
}

/** A recorded call as a `fetch` function. */
export interface RecordedFetch {
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  log: FetchLog;
  /** Retries that the client must make by itself to get the last answer. */
  retries: number;
  /** Aborts with it where the recorded caller did; hand it to the client. */
  abort: AbortController;
}

/** Statuses that `fetch` follows by itself. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Makes the fetch of a call. */
export function recordedFetch(snapshot: Snapshot): RecordedFetch {
  const visits = groupRedirects(snapshot.exchanges);
  const log: FetchLog = { served: [], match: 'exact' };
  const abort = new AbortController();
  let next = 0;
  const fetch: RecordedFetch['fetch'] = async (input, init) => {
    const hops = visits[next];
    if (!hops) {
      throw new OrangeboxError(
        'OBX_REPLAY_EXTRA_REQUEST',
        `the client asked ${next + 1} times; ${visits.length} were recorded`,
        {
          hint: 'it retries more often than the recorded program, or asks for something else besides',
        },
      );
    }
    const isLast = next === visits.length - 1;
    next += 1;
    const exchange = hops.at(-1) as Exchange;
    log.match = weaker(log.match, await matchOf(hops[0] as Exchange, input, init));
    const served: FetchLog['served'][number] = { attempt: exchange.attempt, sizeBytes: 0, chunks: 0 };
    log.served.push(served);
    const wasUser = isLast && !isSdkTimeout(visits.map((visit) => visit.at(-1) as Exchange));
    if (!exchange.response) throw failure(exchange, abort, wasUser);
    served.status = exchange.response.status;
    return toResponse(exchange, {
      onAbort: () => {
        if (wasUser) abort.abort();
      },
      onChunk: (bytes) => {
        served.sizeBytes += bytes.length;
        served.chunks += 1;
      },
      // A client's own retry waits as the server said; a replay has no reason to.
      extraHeaders: isLast ? [] : [['retry-after-ms', '1']],
    });
  };
  return { fetch, log, retries: Math.max(0, visits.length - 1), abort };
}

/** Whether no byte of the request left, so that its body is not on record: no connection came about. */
export function neverLeft({ request, ending }: Exchange): boolean {
  return ending === 'connect_failed' && !request.sent && request.body.sizeBytes === 0;
}

/** Attempts as `fetch` makes them: redirects are followed within one. */
function groupRedirects(exchanges: readonly Exchange[]): Exchange[][] {
  const visits: Exchange[][] = [];
  let follows = false;
  for (const exchange of exchanges) {
    if (follows) visits.at(-1)?.push(exchange);
    else visits.push([exchange]);
    const { response } = exchange;
    follows =
      response !== undefined && REDIRECTS.has(response.status) && headerOf(response.headers, 'location') !== undefined;
  }
  return visits;
}

/** An SDK's own timeout aborts every attempt; a user's abort ends the call. */
function isSdkTimeout(attempts: readonly Exchange[]): boolean {
  return attempts.length > 1 && attempts.every((attempt) => attempt.ending === 'caller_abort' && !attempt.response);
}

function failure(exchange: Exchange, abort: AbortController, wasUser: boolean): Error {
  const outcome = outcomeOf(exchange);
  if (outcome.kind === 'error') return outcome.error;
  if (outcome.kind === 'abort') {
    if (wasUser) abort.abort();
    return abortError();
  }
  return new TypeError('fetch failed', { cause: new Error('the recording has no response') });
}

async function matchOf(
  exchange: Exchange,
  input: string | URL | Request,
  init?: RequestInit,
): Promise<MatchRung | 'different'> {
  const request = new Request(input, withDuplex(init));
  const headers: HeaderList = [...request.headers].filter(([name]) => !isHopByHop(name));
  const body = new Uint8Array(await request.arrayBuffer());
  const seen = { method: request.method, target: targetOf(request.url), headers, body };
  if (neverLeft(exchange)) {
    const isSame = seen.method === exchange.request.method && seen.target === targetOf(exchange.request.url);
    return isSame ? 'canonical' : 'different';
  }
  return new RecordedRequest(exchange.request).match(seen) ?? 'different';
}

/** Streamed request bodies need `duplex`; clients' signals are of no use for reading a body here. */
function withDuplex(init: RequestInit | undefined): RequestInit | undefined {
  if (!init) return undefined;
  const { signal: _signal, ...rest } = init;
  return rest.body === undefined || rest.body === null ? rest : ({ ...rest, duplex: 'half' } as RequestInit);
}

const ORDER = ['exact', 'canonical', 'different'] as const;

function weaker(a: RecordedReplay['requestMatch'], b: RecordedReplay['requestMatch']): RecordedReplay['requestMatch'] {
  return ORDER[Math.max(ORDER.indexOf(a), ORDER.indexOf(b))] ?? 'different';
}
