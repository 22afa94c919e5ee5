/**
 * Whether a request is a recorded one, whatever the host it goes to and the fields of its head: in its bytes, or in its
 * canonical form.
 */
import { decodeBody } from '@orangebox/codec';
import type { ExchangeRequest, HeaderList } from '@orangebox/schema';
import { type CanonicalRequest, canonicalRequest } from './matching/canonical-request.ts';
import { differingLeaves, sameBytes } from './matching/compare-trees.ts';
import { fitSecrets } from './matching/secret-fit.ts';

/** A request as it came. */
export interface SeenRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: HeaderList;
  body: Uint8Array;
}

/** How well a request fits. */
export type MatchRung = 'exact' | 'canonical';

/** Compares requests with recorded ones; what is known of a recording is worked out once. */
export class RecordedRequest {
  readonly #recorded: SeenRequest;
  #canonical: CanonicalRequest | undefined;

  constructor({ method, url, headers, body }: ExchangeRequest) {
    this.#recorded = { method, target: targetOf(url), headers, body: decodeBody(body) };
  }

  /** The rung on which a request is this one; undefined when it is another. */
  match(seen: SeenRequest): MatchRung | undefined {
    const { method, target, body } = this.#recorded;
    if (target === '' || seen.method.toUpperCase() !== method.toUpperCase()) return undefined;
    if (seen.target === target && sameBytes(seen.body, body)) return 'exact';
    this.#canonical ??= withoutHead(this.#recorded);
    const isSecret = ({ recorded, live }: { recorded?: unknown; live?: unknown }): boolean =>
      typeof recorded === 'string' && typeof live === 'string' && fitSecrets(recorded, live) !== undefined;
    return differingLeaves(this.#canonical, withoutHead(seen)).every(isSecret) ? 'canonical' : undefined;
  }
}

/** Path and query of a recorded URL; what does not parse matches nothing. */
export function targetOf(url: string): string {
  try {
    const { pathname, search } = new URL(url);
    return pathname + search;
  } catch {
    return '';
  }
}

function withoutHead({ target, ...request }: SeenRequest): CanonicalRequest {
  return { ...canonicalRequest({ ...request, url: `http://localhost${target}` }), headers: [], noise: [] };
}
