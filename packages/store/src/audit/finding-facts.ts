/** What a finding says of its call, from a promise or from the objects under a key. */
import { parseSnapshotKey, type SnapshotKeyParts } from '@orangebox/schema';
import type { KeyGroup } from './key-groups.ts';
import type { Promised } from './promises.ts';
import type { AuditFinding } from './report.ts';

/** What the span tells. */
export function factsOf(promised: Promised): Omit<AuditFinding, 'verdict' | 'reason'> {
  const { key, traceId, spanId, startUnixNano, serviceName } = promised;
  return { key, traceId, spanId, startUnixNano, ...(serviceName === undefined ? {} : { serviceName }) };
}

/** The object, where there is one only. */
export function objectOf(group: KeyGroup): { object?: string } {
  const [only] = group.objects;
  return only && group.objects.length === 1 ? { object: only.name } : {};
}

/** The time of writing, for what tells no other. */
export function timesOf(group: KeyGroup): { startUnixNano: string; endUnixNano: string; sampled?: boolean } {
  const time = nanos(group.modifiedUnixMs);
  return { startUnixNano: time, endUnixNano: time };
}

function nanos(unixMs: number): string {
  return `${Math.floor(unixMs)}000000`;
}

/** The parts of a key; empty ones of what is none. */
export function partsOf(key: string): SnapshotKeyParts {
  return parseSnapshotKey(key) ?? { date: '', traceId: '', spanId: '', digest16: '' };
}
