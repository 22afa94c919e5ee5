/** Calls a recorded exchange through the real SDK and tells all that a program can see of it, as JSON. */
import { CORPUS_KEY, EXCHANGE_HEADER, isMadeUp, requestOf } from './exchange.mjs';

const route = /^(.*)\/(chat\/completions|responses|embeddings|completions)(?:\?(.*))?$/;

/**
 * How the SDK would send an exchange: `{resource, basePath, query, azure, body}`, or `{skip}` with the reason why it can't;
 * undefined when it is not an exchange of these four APIs.
 */
export function sdkCallOf(exchange) {
  const { method, path } = exchange.request;
  const match = route.exec(path);
  if (match === null || method !== 'POST') return undefined;
  let body;
  try {
    body = JSON.parse(requestOf(exchange).body.toString('utf8'));
  } catch {
    return { skip: 'the recorded request body is not JSON' };
  }
  if (body === null || typeof body !== 'object' || Array.isArray(body))
    return { skip: 'the request body is not an object' };
  if (isMadeUp(exchange) && exchange.stream) body.stream = true;
  const [, prefix = '', resource = '', query = ''] = match;
  const deployment = /^\/openai\/deployments\/([^/]+)$/.exec(prefix)?.[1];
  return { resource, basePath: prefix, query: Object.fromEntries(new URLSearchParams(query)), deployment, body };
}

/** What a program can read off an error of the SDK. */
export function describeError(error) {
  const { name, message, status, code, type, param, requestID } = error;
  const own = { class: error?.constructor?.name, name, message, status, code, type, param, requestID };
  return { ...own, ...(error?.cause && { cause: String(error.cause) }) };
}

function clientFor(sdk, url, call, n) {
  const options = { apiKey: CORPUS_KEY, maxRetries: 0, defaultHeaders: { [EXCHANGE_HEADER]: String(n) } };
  if (call.deployment !== undefined && call.query['api-version'] !== undefined) {
    const azure = { endpoint: url, apiVersion: call.query['api-version'], deployment: call.deployment };
    return new sdk.AzureOpenAI({ ...options, ...azure });
  }
  return new sdk.OpenAI({ ...options, baseURL: url + call.basePath, defaultQuery: call.query });
}

function resourceOf(client, name) {
  if (name === 'chat/completions') return client.chat.completions;
  return client[name];
}

async function attempt(use) {
  try {
    return { value: await use() };
  } catch (error) {
    return { error: describeError(error) };
  }
}

/** A plain call; every other one by `withResponse()`, which shows status and headers too. */
async function plain(resource, body, n) {
  if (n % 2 === 0) return { result: await resource.create(body) };
  const { data, response } = await resource.create(body).withResponse();
  return { result: data, status: response.status, headers: [...response.headers] };
}

/** Every event of a streamed call, up to its end or error. */
async function streamed(resource, body) {
  const events = [];
  try {
    for await (const event of await resource.create(body)) events.push(event);
    return { events };
  } catch (error) {
    return { events, error: describeError(error) };
  }
}

/** The SDK's own final object of a streamed call, where it has an accumulator. */
async function finalObject(client, name, body) {
  if (name === 'chat/completions') {
    const completions =
      client.chat.completions.stream === undefined ? client.beta.chat.completions : client.chat.completions;
    return completions.stream(body).finalChatCompletion();
  }
  return client.responses.stream(body).finalResponse();
}

/** Sends one exchange; never rejects. */
export async function callThroughSdk(sdk, url, exchange, call) {
  const client = clientFor(sdk, url, call, exchange.n);
  const resource = resourceOf(client, call.resource);
  if (resource === undefined) return { n: exchange.n, unsupported: true };
  if (call.body.stream !== true) {
    return { n: exchange.n, ...(await attempt(() => plain(resource, call.body, exchange.n))) };
  }
  const value = await streamed(resource, call.body);
  const accumulates = call.resource === 'chat/completions' || call.resource === 'responses';
  const final = accumulates ? await attempt(() => finalObject(client, call.resource, call.body)) : undefined;
  return { n: exchange.n, value, final };
}
