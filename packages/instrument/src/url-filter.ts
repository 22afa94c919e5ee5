/**
 * `ORANGEBOX_INCLUDE` and `ORANGEBOX_EXCLUDE`: comma-separated URL patterns.
 *
 * A pattern is `[scheme://]host[:port][/path]` in which `*` stands for any run of characters, and it must match the whole
 * URL without user info, query and fragment. What it leaves out matches anything: scheme, port, path. `*` alone matches
 * every URL. Case does not matter in scheme and host.
 */

/** What the patterns say about a URL: `undefined` leaves it to recognition by protocol. */
export interface UrlFilter {
  /** True where no pattern is set, so that nothing has to be looked at. */
  readonly empty: boolean;
  /** Exclusion wins over inclusion. */
  match(url: string): 'include' | 'exclude' | undefined;
}

const MAX_PATTERNS = 200;

/** Makes the filter from the two variables' texts. */
export function createUrlFilter(
  include: string | undefined,
  exclude: string | undefined,
  warn: (message: string) => void,
): UrlFilter {
  const included = parsePatterns(include, 'ORANGEBOX_INCLUDE', warn);
  const excluded = parsePatterns(exclude, 'ORANGEBOX_EXCLUDE', warn);
  return {
    empty: included.length === 0 && excluded.length === 0,
    match(url) {
      const bare = bareUrl(url);
      if (excluded.some((pattern) => pattern.test(bare))) return 'exclude';
      if (included.some((pattern) => pattern.test(bare))) return 'include';
      return undefined;
    },
  };
}

function parsePatterns(text: string | undefined, variable: string, warn: (message: string) => void): Pattern[] {
  const patterns: Pattern[] = [];
  for (const part of (text ?? '').split(',')) {
    const pattern = part.trim();
    if (pattern === '') continue;
    if (/\s/.test(pattern)) {
      warn(`${variable}: the pattern ${JSON.stringify(pattern)} holds a space and is ignored`);
      continue;
    }
    if (patterns.length === MAX_PATTERNS) {
      warn(`${variable}: only the first ${MAX_PATTERNS} patterns are used`);
      break;
    }
    patterns.push(compile(pattern));
  }
  return patterns;
}

/** Tells whether a URL, cleaned by {@link bareUrl}, matches. */
interface Pattern {
  test(bare: string): boolean;
}

function compile(pattern: string): Pattern {
  if (pattern === '*') return { test: () => true };
  const scheme = pattern.indexOf('://');
  const rest = scheme < 0 ? pattern : pattern.slice(scheme + 3);
  const slash = rest.indexOf('/');
  const host = (slash < 0 ? rest : rest.slice(0, slash)).toLowerCase();
  const path = slash < 0 ? '*' : rest.slice(slash);
  const schemeGlob = scheme < 0 ? '*' : pattern.slice(0, scheme).toLowerCase();
  const hasPort = /:[\d*]+$/.test(host);
  return {
    test(bare) {
      const at = bare.indexOf('://');
      if (at < 0) return false;
      const start = bare.indexOf('/', at + 3);
      const authority = bare.slice(at + 3, start);
      return (
        matches(schemeGlob, bare.slice(0, at)) &&
        (matches(host, authority) || (!hasPort && matches(host, authority.replace(/:\d+$/, '')))) &&
        matches(path, bare.slice(start))
      );
    },
  };
}

/** Glob matching with `*` only; goes back to the last star alone, so that it takes no more than pattern times text. */
function matches(glob: string, text: string): boolean {
  let g = 0;
  let t = 0;
  let star = -1;
  let mark = 0;
  while (t < text.length) {
    if (glob[g] === '*') {
      star = g++;
      mark = t;
    } else if (g < glob.length && glob[g] === text[t]) {
      g++;
      t++;
    } else if (star >= 0) {
      g = star + 1;
      t = ++mark;
    } else return false;
  }
  while (glob[g] === '*') g++;
  return g === glob.length;
}

/** The URL without user info, query and fragment; scheme and host in lower case. */
function bareUrl(url: string): string {
  const end = url.search(/[?#]/);
  const bare = end < 0 ? url : url.slice(0, end);
  const scheme = bare.indexOf('://');
  if (scheme < 0) return bare;
  const slash = bare.indexOf('/', scheme + 3);
  const authority = slash < 0 ? bare.slice(scheme + 3) : bare.slice(scheme + 3, slash);
  const host = authority.slice(authority.lastIndexOf('@') + 1).toLowerCase();
  return `${bare.slice(0, scheme).toLowerCase()}://${host}${slash < 0 ? '/' : bare.slice(slash)}`;
}
