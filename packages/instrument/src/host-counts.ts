/** Hosts of requests that look like LLM traffic but were not recognised, counted in memory for `orangebox run`. */

const MAX_HOSTS = 50;

/** Counts by host, bounded. */
export class HostCounts {
  readonly #counts = new Map<string, number>();

  /** Notes a POST; only JSON counts. */
  seen(url: string, contentType: string | undefined): void {
    if (!contentType?.includes('json')) return;
    const host = /^[a-z]+:\/\/(?:[^/?#]*@)?([^/?#]+)/i.exec(url)?.[1];
    if (host === undefined) return;
    const count = this.#counts.get(host);
    if (count === undefined && this.#counts.size >= MAX_HOSTS) return;
    this.#counts.set(host, (count ?? 0) + 1);
  }

  /** The hosts, most requests first. */
  list(): { host: string; count: number }[] {
    return [...this.#counts].map(([host, count]) => ({ host, count })).sort((a, b) => b.count - a.count);
  }
}
