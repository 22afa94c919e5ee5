import type { Ending } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { passesEntry } from './filter.ts';
import { hasFailed } from './outcome.ts';
import type { StoredEntry } from './store.ts';

function entry(ending: Ending, more: Partial<StoredEntry> = {}, status?: number): StoredEntry {
  const summary = { ending, attempts: 1, stream: false, ...(status === undefined ? {} : { status }) };
  return { status: 'stored', summary, ...more } as StoredEntry;
}

const error = { type: 'AbortError', message: 'This operation was aborted' };

describe('a call has failed', () => {
  it.each([
    ['by its status', entry('complete', {}, 500), true],
    ['by a connection that broke', entry('cut', {}, 200), true],
    ['by an error within a whole answer', entry('complete', { error }, 200), true],
    ['not when the program aborted it', entry('caller_abort', { error }), false],
    ['not when the program stopped reading', entry('caller_stopped_reading', { error }, 200), false],
    ['not while it runs', entry('process_died', { status: 'open' }), false],
    ['not when it went well', entry('complete', {}, 200), false],
  ])('%s', (_what, call, failed) => {
    expect(hasFailed(call)).toBe(failed);
    expect(passesEntry(call, { status: 'error' })).toBe(failed);
    expect(passesEntry(call, { status: 'ok' })).toBe(!failed && call.status !== 'open');
  });
});
