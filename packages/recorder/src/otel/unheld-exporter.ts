/**
 * Takes from a stock OTLP exporter what holds the process: its sockets, and the timers between its attempts. A receiver
 * that hangs, or that sends its answer a byte at a time, would delay the program's end by ten seconds or for ever.
 */
import type { ClientRequest } from 'node:http';
import { createExitWatch } from '../shipping/exit-watch.ts';
import { afterMs, cancelTimer } from '../timers.ts';

/** Longest that a request may take with its whole answer; the stock timeout ends at the first byte of silence only. */
const REQUEST_MAX_MS = 30_000;

type SendRequest = (...args: unknown[]) => ClientRequest;

/** What the exporters of the pinned version are made of; a test of whole programs fails when they no longer are. */
interface StockExporter {
  _delegate?: { _transport?: StockRetries };
}
interface StockRetries {
  _transport?: StockRequests;
  retry?: (data: unknown, timeoutMs: number, inMs: number) => Promise<unknown>;
}
interface StockRequests {
  send(data: unknown, timeoutMs: number): Promise<unknown>;
  _loadUtils?: () => Promise<{ request: SendRequest }>;
}

const underWay = new Set<ClientRequest>();
const watch = createExitWatch(250, () => {
  for (const request of underWay) request.destroy();
});

/** Gives the exporter back; one that is made otherwise stays as it is. */
export function unheld<T extends object>(exporter: T): T {
  const retries = (exporter as StockExporter)._delegate?._transport;
  const requests = retries?._transport;
  const load = requests?._loadUtils;
  if (retries === undefined || requests === undefined || typeof load !== 'function') return exporter;
  retries.retry = (data, timeoutMs, inMs) =>
    new Promise((resolve, reject) => {
      afterMs(inMs, () => void requests.send(data, timeoutMs).then(resolve, reject)).unref();
    });
  requests._loadUtils = async () => {
    const utils = await load.call(requests);
    return { ...utils, request: (...args) => unheldRequest(utils.request(...args)) };
  };
  return exporter;
}

function unheldRequest(request: ClientRequest): ClientRequest {
  underWay.add(request);
  watch.start();
  request.on('socket', (socket) => socket.unref());
  const timer = afterMs(REQUEST_MAX_MS, () => request.destroy(new Error('no whole answer in time'))).unref();
  request.on('close', () => {
    cancelTimer(timer);
    underWay.delete(request);
    if (underWay.size === 0) watch.stop();
  });
  return request;
}
