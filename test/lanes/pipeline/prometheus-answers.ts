/** What a real Prometheus answers to a query. */
import type { RunningServer } from './servers/index.ts';

/** One series of an instant query: its labels and its value. */
export interface Sample {
  labels: Record<string, string>;
  value: number;
}

/** Asks now. A query with an error in it rejects with what Prometheus says of it. */
export async function queryNow(prometheus: RunningServer, query: string): Promise<Sample[]> {
  const response = await fetch(`${prometheus.url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const answer = (await response.json()) as {
    status: string;
    error?: string;
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  if (answer.status !== 'success') throw new Error(`${query}: ${answer.error}`);
  return answer.data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
}

/** The values by the labels that a query groups by, as `a b: 3` lines in order. */
export async function lines(prometheus: RunningServer, query: string): Promise<string[]> {
  const samples = await queryNow(prometheus, query);
  return samples.map(({ labels, value }) => `${Object.values(labels).join(' ')}: ${value}`).sort();
}
