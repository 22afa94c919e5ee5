/** Header fields that differ from run to run or from client to client and ask for nothing else. */
import type { HeaderList } from '@orangebox/schema';

/** What belongs to the connection, or follows from the body. */
const CONNECTION =
  /^(?:host|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|content-length|http2-settings)$/;

/** Who asks, and in which version. A request that is none of the recorded ones shows them all the same. */
const CLIENT =
  /^(?:user-agent|accept-encoding|accept-language|sec-fetch-.*|sec-ch-.*|priority|x-stainless-.*|x-goog-api-client|x-amz-user-agent|x-ms-useragent|amz-sdk-.*)$/;

/** Traces, and ids that are made for one request. */
const PER_REQUEST =
  /^(?:traceparent|tracestate|baggage|b3|x-b3-.*|uber-trace-id|sentry-trace|x-datadog-.*|x-amzn-trace-id|x-cloud-trace-context|elastic-apm-traceparent|newrelic|(?:x-)?idempotency-key|(?:x-)?request-id|x-client-request-id|x-correlation-id|date|x-amz-date|x-ms-date)$/;

/** Whether a field is passed over. `name` is in lower case. */
export function isHeaderNoise(name: string): boolean {
  return CONNECTION.test(name) || CLIENT.test(name) || PER_REQUEST.test(name);
}

/** A header list in two: what is compared, and what only explains. Lower-case names, ordered by them, values in order. */
export function splitHeaders(headers: HeaderList): { compared: HeaderList; noise: HeaderList } {
  const compared: HeaderList = [];
  const noise: HeaderList = [];
  for (const [name, value] of headers) {
    const field = name.toLowerCase();
    if (CONNECTION.test(field)) continue;
    (isHeaderNoise(field) ? noise : compared).push([field, value.trim()]);
  }
  return { compared: compared.sort(byName), noise: noise.sort(byName) };
}

/** Orders pairs by name; those of one name stay as they were. */
export function byName([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
