import { describe, expect, it } from 'vitest';
import { abortOrigin, framesNow } from './abort-origin.ts';

const UNDICI = 'node:internal/deps/undici/undici';
const SIGNAL = 'node:internal/abort_controller';
const SDK = '/app/node_modules/openai/client.js';
const frames = (...list: [file: string, fn?: string][]): { file: string; fn: string }[] =>
  list.map(([file, fn = '']) => ({ file, fn }));

describe('who aborted', () => {
  it.each([
    ['the program, by a signal', 'caller_abort', frames([UNDICI], [SIGNAL], ['/app/main.js'])],
    [
      'the program, through an SDK that hands it on',
      'caller_abort',
      frames([UNDICI], [SIGNAL], [SDK], [SIGNAL], ['/app/main.js']),
    ],
    ['a timer of the program', 'caller_abort', frames([UNDICI], [SIGNAL], ['/app/main.js'], ['node:internal/timers'])],
    ['a timer of the SDK', 'timeout', frames([UNDICI], [SIGNAL], [SDK], ['node:internal/timers'])],
    [
      'a loop over an SDK stream that was left',
      'caller_stopped_reading',
      frames([UNDICI], [SIGNAL], ['file:///app/node_modules/openai/core/streaming.mjs', 'iterator']),
    ],
    [
      'the same in a bundle',
      'caller_stopped_reading',
      frames([UNDICI], [SIGNAL], ['/app/bundle.js', 'Stream.iterator']),
    ],
    [
      'a cancelled web stream',
      'caller_stopped_reading',
      frames([UNDICI], ['node:internal/webstreams/readablestream'], ['/app/main.js']),
    ],
    [
      'fetch itself, as it follows a redirect',
      'caller_stopped_reading',
      frames([UNDICI, 'abort'], [UNDICI, 'httpFetch']),
    ],
    [
      'the program, by a signal while fetch works',
      'caller_abort',
      frames([UNDICI, 'abort'], [SIGNAL], [UNDICI, 'httpFetch']),
    ],
    ['a destroyed stream', 'caller_stopped_reading', frames(['node:internal/streams/destroy'], ['/app/main.js'])],
    [
      'a signal that destroys a stream',
      'caller_abort',
      frames(['node:internal/streams/destroy'], [UNDICI], [SIGNAL], ['/app/main.js']),
    ],
    ['nobody that shows', 'caller_abort', frames()],
  ] as const)('%s', (_name, expected, stack) => {
    expect(abortOrigin(stack)).toBe(expected);
  });

  it('reads the stack without leaving a trace of it', () => {
    const { stackTraceLimit, prepareStackTrace } = Error;
    const inner = (): ReturnType<typeof framesNow> => framesNow(inner);
    function outer(): ReturnType<typeof framesNow> {
      return inner();
    }
    expect(outer()[0]?.fn).toBe('outer');
    expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual([stackTraceLimit, prepareStackTrace]);
  });
});
