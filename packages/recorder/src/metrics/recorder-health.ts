/** How the recorder itself is doing, in numbers that only grow or tell the present state. */
import type { ShipperStats } from '../shipper.ts';
import { nowMs } from '../timers.ts';

/** Read at each export. */
export interface RecorderHealth {
  /** Snapshots in the segment, by kind. */
  recorded: Record<string, number>;
  /** What sampling or the level let go, by kind. */
  notKept: Record<string, number>;
  /** By reason. */
  dropped: Record<string, number>;
  /** Absent where nothing is sent. */
  sent?: number;
  pending?: number;
  oldestUnsentAgeS?: number;
  segmentBytes: number;
  segmentSizeBytes: number;
}

/** What it is read from. */
export interface HealthSources {
  recorded: Record<string, number>;
  /** Snapshots that could not be written. */
  unwritten: number;
  notKept: Record<string, number>;
  /** Faults and warnings by code, as the reporter counts them. */
  faults: Record<string, number>;
  shipper: ShipperStats | undefined;
  segmentBytes: number;
  segmentSizeBytes: number;
}

/** Codes that stand for one snapshot (or span) each that went no further. */
const DROP_REASONS: Record<string, string> = {
  payload_key: 'key',
  payload_queue_full: 'queue_full',
  payload_refused: 'refused',
  payload_failing: 'failing',
  payload_lost: 'unreadable',
  inline_too_large: 'too_large',
  inline_value_limit: 'value_limit',
  inline_cut: 'value_limit',
  inline_queue_full: 'queue_full',
  inline_no_time: 'no_time',
  inline_unreadable: 'unreadable',
  inline_not_sent: 'not_sent',
  span_queue_full: 'span_queue_full',
  dir_bytes: 'dir_bytes',
  dir_age: 'dir_age',
};

/** Puts the numbers together. */
export function recorderHealth(sources: HealthSources): RecorderHealth {
  const { shipper, faults } = sources;
  const dropped: Record<string, number> = {};
  if (sources.unwritten > 0) dropped['no_storage'] = sources.unwritten;
  for (const code in DROP_REASONS) {
    const count = faults[code];
    const reason = DROP_REASONS[code];
    if (count !== undefined && reason !== undefined) dropped[reason] = (dropped[reason] ?? 0) + count;
  }
  return {
    recorded: sources.recorded,
    notKept: sources.notKept,
    dropped,
    segmentBytes: sources.segmentBytes,
    segmentSizeBytes: sources.segmentSizeBytes,
    ...(shipper ? { sent: shipper.shipped, pending: shipper.pending, oldestUnsentAgeS: ageOf(shipper) } : {}),
  };
}

function ageOf({ oldestUnsentMs }: ShipperStats): number {
  return oldestUnsentMs === undefined ? 0 : Math.max(0, nowMs() - oldestUnsentMs) / 1000;
}
