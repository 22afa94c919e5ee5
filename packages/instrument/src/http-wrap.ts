/**
 * Node before 22.12 publishes no request when it is created, so `request` and `get` of `http` and `https` are wrapped
 * there. The wrappers are made visible to ES modules by `syncBuiltinESMExports`.
 */
import { syncBuiltinESMExports } from 'node:module';
import type { ClientRequest } from 'node:http';

type RequestFunction = (...args: unknown[]) => ClientRequest;
type HttpModule = { request: RequestFunction; get: RequestFunction };

/** Wraps both modules; `note` gets each request that a wrapper made, and its port where the arguments name one. */
export function wrapHttpModules(note: (request: ClientRequest, port?: string) => void): () => void {
  const undo: (() => void)[] = [];
  for (const name of ['node:http', 'node:https']) {
    const module = process.getBuiltinModule(name) as unknown as HttpModule;
    const request = wrapRequest(module.request, note);
    undo.push(replace(module, 'request', request));
    undo.push(replace(module, 'get', wrapGet(module.get, request)));
  }
  syncBuiltinESMExports();
  return () => {
    for (const one of undo) one();
    syncBuiltinESMExports();
  };
}

/** Puts a wrapper in place with the property's own flags; the undo leaves a wrapper that came later alone. */
function replace(module: HttpModule, key: 'request' | 'get', wrapper: RequestFunction): () => void {
  const original = Object.getOwnPropertyDescriptor(module, key);
  if (original === undefined || !original.configurable) return () => undefined;
  Object.defineProperty(module, key, { ...original, value: wrapper });
  return () => {
    if (module[key] === wrapper) Object.defineProperty(module, key, original);
  };
}

/* A Proxy keeps name, length, properties, toString and use with `new` as they are. */

function wrapRequest(
  original: RequestFunction,
  note: (request: ClientRequest, port?: string) => void,
): RequestFunction {
  return new Proxy(original, {
    apply(target, self, args: unknown[]) {
      const request = Reflect.apply(target, self, args);
      note(request, portOf(args));
      return request;
    },
    construct(target, args: unknown[], newTarget) {
      const request = Reflect.construct(target, args, newTarget) as ClientRequest;
      note(request, portOf(args));
      return request;
    },
  });
}

/**
 * The platform's `get` calls its module's own inner `request`, which no wrapper sees. It does only this: make the
 * request and end it.
 */
function wrapGet(original: RequestFunction, request: RequestFunction): RequestFunction {
  return new Proxy(original, {
    apply(_target, self, args: unknown[]) {
      const made = Reflect.apply(request, self, args);
      made.end();
      return made;
    },
  });
}

/** Port of the arguments of `request(url | options, options?)`: options win over the URL, as in the platform. */
function portOf(args: unknown[]): string | undefined {
  try {
    let port: unknown;
    for (const arg of args.slice(0, 2)) {
      if (typeof arg === 'string') port = new URL(arg).port || port;
      else if (typeof arg === 'object' && arg !== null) {
        port = (arg as { port?: unknown }).port || (arg as { defaultPort?: unknown }).defaultPort || port;
      }
    }
    return port === undefined ? undefined : String(port as string | number);
  } catch {
    return undefined;
  }
}
