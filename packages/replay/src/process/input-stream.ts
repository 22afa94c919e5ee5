/** Streams of a standard input that is not there, as the platform would make them: nothing of them holds the process. */
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import type { InputKind } from '@orangebox/schema';
import { platform } from './platform.ts';

/** A stream and what stands behind it. */
export interface InputStream {
  stream: Readable;
  /** Whether the program asks for more. */
  isReading(): boolean;
  /** Gives bytes; null is the end. */
  give(bytes: Uint8Array | null): void;
}

/** Of a file; as the platform reads one. */
const FILE_READ_BYTES = 64 * 1024;

/** Makes the stream. `changed` is called when the program begins or ceases to ask for more. */
export function inputStream(kind: InputKind, changed: () => void): InputStream {
  return kind === 'file' ? fileStream(changed) : handleStream(kind, changed);
}

function fileStream(changed: () => void): InputStream {
  let isAsked = false;
  const stream = new Readable({
    autoDestroy: false,
    highWaterMark: FILE_READ_BYTES,
    read: () => {
      isAsked = true;
      changed();
    },
  });
  Object.assign(stream, { fd: 0 });
  return {
    stream,
    isReading: () => isAsked,
    give(bytes) {
      isAsked = false;
      stream.push(bytes);
    },
  };
}

/** A pipe or terminal: the platform's own classes, with a handle that has nothing behind it. */
function handleStream(kind: 'pipe' | 'terminal', changed: () => void): InputStream {
  const set = (isReading: boolean): number => {
    handle.reading = isReading;
    changed();
    return 0;
  };
  const handle = {
    reading: false,
    readStart: () => set(true),
    readStop: () => set(false),
    close: (done?: () => void) => {
      handle.reading = false;
      if (done) platform.nextTick(done);
    },
    // At once.
    shutdown: () => 1,
    setRawMode: () => 0,
    ref: () => undefined,
    unref: () => undefined,
    hasRef: () => false,
  };
  const isTerminal = kind === 'terminal';
  const stream = new Socket({
    handle,
    readable: true,
    writable: isTerminal,
    manualStart: true,
    ...(isTerminal ? { highWaterMark: 0 } : {}),
  } as object);
  if (isTerminal) {
    Object.setPrototypeOf(stream, ReadStream.prototype as object);
    Object.assign(stream, { isRaw: false, isTTY: true });
  }
  Object.assign(stream, { fd: 0 });
  handle.reading = false;
  const { _readableState: state } = stream as unknown as { _readableState: { reading: boolean } };
  state.reading = false;
  // As the platform does where the program pauses it.
  stream.on('pause', () => {
    platform.nextTick(() => {
      if (!handle.reading || stream.readableFlowing === true) return;
      state.reading = false;
      set(false);
    });
  });
  return {
    stream,
    isReading: () => handle.reading && !stream.destroyed,
    give(bytes) {
      if (stream.push(bytes)) return;
      set(false);
      if (bytes === null) stream.read(0);
    },
  };
}
