/**
 * `ORANGEBOX_INCLUDE` and `ORANGEBOX_EXCLUDE`: comma-separated URL patterns.
 *
 * A pattern is text in which `*` stands for any run of characters. With a scheme (`http://…`) it must match the whole
 * absolute URL without query and fragment; without one it must match host, port and path. A pattern without a `/` is a
 * host: it matches with any port and any path. Case does not matter in the host.
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

function parsePatterns(
  text: string | undefined,
  variable: string,
  warn: (message: string) => void,
): RegExp[] {
  const patterns: RegExp[] = [];
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

function compile(pattern: string): RegExp {
  if (pattern === '*') return /^/;
  const hasScheme = /^[a-z*][a-z*+.-]*:\/\//i.test(pattern);
  const rest = hasScheme ? pattern.slice(pattern.indexOf('://') + 3) : pattern;
  const slash = rest.indexOf('/');
  const host = slash < 0 ? rest : rest.slice(0, slash);
  const path = slash < 0 ? undefined : rest.slice(slash);
  const scheme = hasScheme ? wild(pattern.slice(0, pattern.indexOf('://')).toLowerCase()) : '[a-z]+';
  const anyPort = /:[\d*]+$/.test(host) ? '' : '(?::\\d+)?';
  const tail = path === undefined ? '(?:/.*)?' : wild(path);
  return new RegExp(`^${scheme}://${wild(host.toLowerCase())}${path === undefined ? anyPort : anyPort}${tail}$`, 's');
}

/** Escapes all but `*`; runs of `*` become one, so that matching stays linear in practice. */
function wild(text: string): string {
  return text
    .split(/\*+/)
    .map((literal) => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
    .join('.*');
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
