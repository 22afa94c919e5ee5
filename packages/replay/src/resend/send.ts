/** Sends one planned request. */
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Ending, HeaderList, Snapshot, Stage } from '@orangebox/schema';
import { newId, type PlannedRequest } from './request-plan.ts';
import { Recording } from './recording.ts';

/** Largest answer that is taken; the rest is cut off. */
const RESPONSE_MAX_BYTES: number = 256 * 1024 * 1024;

/** How a request is sent. */
export interface SendOptions {
  timeoutMs: number;
  signal?: AbortSignal;
  /** The call that is sent again. */
  original: Snapshot;
}

/** Sends a request once. Redirects are not followed: what answers is what the plan named. Never rejects. */
export async function sendOnce(planned: PlannedRequest, options: SendOptions): Promise<Snapshot> {
  const traceId = newId(16);
  const spanId = newId(8);
  const recording = new Recording(planned, options.original, traceId, spanId);
  const headers = recording.start();
  let request: ClientRequest;
  try {
    request = openRequest(planned, headers);
  } catch (error) {
    recording.end('error', 'connect', error instanceof Error ? error : new Error(String(error)));
    return recording.snapshot();
  }
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => request.destroy(timeoutError(options.timeoutMs)), options.timeoutMs);
    const abort = (): void => void request.destroy(new DOMException('This operation was aborted', 'AbortError'));
    const finish = (ending: Ending, stage: Stage, error?: Error): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', abort);
      recording.end(ending, stage, error);
      resolve();
    };
    options.signal?.addEventListener('abort', abort, { once: true });
    let isConnected = false;
    request.on('socket', (socket) => {
      socket.once(planned.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true;
      });
    });
    request.once('finish', () => recording.sent());
    // Errors after the head are the response's to tell; the listener stays, so that none is unhandled.
    request.on('error', (error) => {
      if (recording.hasHead) return;
      finish(
        endingOf(error, isConnected ? 'reset' : 'connect_failed'),
        isConnected ? 'response_head' : 'connect',
        error,
      );
    });
    request.once('response', (response) => readResponse(response, recording, finish));
    request.end(planned.body);
  });
  return recording.snapshot();
}

function openRequest({ url, method }: PlannedRequest, headers: HeaderList): ClientRequest {
  const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
  // The flat list keeps order and duplicates; the connection is not kept for anything else.
  return open(url, { method, headers: headers.flat() as never, agent: false });
}

function timeoutError(timeoutMs: number): Error {
  const error: Error & { code?: string } = new Error(`no whole answer within ${timeoutMs} ms`);
  error.code = 'ETIMEDOUT';
  return error;
}

function endingOf(error: Error, otherwise: Ending): Ending {
  if (error.name === 'AbortError') return 'caller_abort';
  return 'code' in error && error.code === 'ETIMEDOUT' ? 'timeout' : otherwise;
}

function readResponse(
  response: IncomingMessage,
  recording: Recording,
  finish: (ending: Ending, stage: Stage, error?: Error) => void,
): void {
  recording.head(response);
  let size = 0;
  let isTooLarge = false;
  let fault: Error | undefined;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= RESPONSE_MAX_BYTES) recording.chunk(chunk);
    else {
      isTooLarge = true;
      response.destroy();
    }
  });
  response.on('error', (error) => {
    fault = error;
  });
  response.once('close', () => {
    if (isTooLarge) recording.truncate();
    if (response.complete) finish('complete', 'done');
    else if (isTooLarge) finish('caller_stopped_reading', 'response_body');
    else finish(fault ? endingOf(fault, 'cut') : 'cut', 'response_body', fault ?? new Error('the connection was cut'));
  });
}
