/** What one file holds, read at once: the calls that stand wholly in it, and the exchanges of those that do not. */
import { isRunRecord } from '@orangebox/schema';
import type { SegmentFs } from '../segment-directory.ts';
import type { WalkedFrame } from './frame-walk.ts';
import { walkFramesAtOnce } from './frames-at-once.ts';
import { endFacts, exchangeIdOf, forgottenIdsOf, keySpanOf, pidNamespaceOf } from './record-facts.ts';

/** A call or tool execution that stands wholly in a file. */
export interface WholeCall {
  spanId: string;
  sizeBytes: number;
  isFailed: boolean;
}

/** What stands in a file. */
export interface FileFacts {
  pidNamespace: string | undefined;
  calls: WholeCall[];
  /** Span ids that a `shipped` record of this file names. */
  shipped: Set<string>;
  /** Exchanges of calls that are not whole here, and have no end here. */
  open: Set<number>;
  /** Exchanges of calls that end here and began in an earlier file, or that this file has readers pass over. */
  elsewhere: Set<number>;
  /** Undamaged to its end. */
  isClean: boolean;
}

/** Reads a file. @throws the file system's error */
export function readFileFacts(path: string, sizeBytes: number, fs: SegmentFs): FileFacts {
  const facts: FileFacts = {
    pidNamespace: undefined,
    calls: [],
    shipped: new Set(),
    open: new Set(),
    elsewhere: new Set(),
    isClean: false,
  };
  const sizes = new Map<number, number>();
  const started = new Set<number>();
  facts.isClean = walkFramesAtOnce(path, sizeBytes, fs, (frame) => visit(frame, { facts, sizes, started }));
  return facts;
}

interface Walk {
  facts: FileFacts;
  sizes: Map<number, number>;
  started: Set<number>;
}

function visit(frame: WalkedFrame, { facts, sizes, started }: Walk): void {
  if (isRunRecord(frame)) return;
  switch (frame.type) {
    case undefined:
    case 'segmentEnd':
    case 'dropped':
    case 'quarantined':
    case 'spansSent':
      return;
    case 'segmentStart':
      facts.pidNamespace = pidNamespaceOf(frame) ?? facts.pidNamespace;
      return;
    case 'shipped': {
      const spanId = keySpanOf(frame);
      if (spanId !== undefined) facts.shipped.add(spanId);
      return;
    }
    case 'forgotten':
      for (const id of forgottenIdsOf(frame)) {
        facts.open.delete(id);
        facts.elsewhere.add(id);
      }
      return;
    case 'tool':
    case 'callEnd': {
      const ended = endFacts(frame);
      if (!ended) return;
      const { exchangeIds, spanId, isFailed } = ended;
      const isWhole = exchangeIds.every((id) => started.has(id));
      let sizeBytes = frame.sizeBytes;
      for (const id of exchangeIds) {
        sizeBytes += sizes.get(id) ?? 0;
        facts.open.delete(id);
        if (!isWhole) facts.elsewhere.add(id);
      }
      if (isWhole) facts.calls.push({ spanId, sizeBytes, isFailed });
      return;
    }
    default: {
      const id = exchangeIdOf(frame);
      if (id === undefined) return;
      if (frame.type === 'exchangeStart') started.add(id);
      if (!sizes.has(id)) facts.open.add(id);
      sizes.set(id, (sizes.get(id) ?? 0) + frame.sizeBytes);
    }
  }
}
