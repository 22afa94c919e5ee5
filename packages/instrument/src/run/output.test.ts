import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { watchOutput } from './output.ts';

function stream(): { out: NodeJS.WriteStream; written: () => string } {
  const chunks: Buffer[] = [];
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { out: out as unknown as NodeJS.WriteStream, written: () => Buffer.concat(chunks).toString() };
}

describe('output that is watched', () => {
  it('is counted as it is written', () => {
    const { out, written } = stream();
    const watched = watchOutput(out);
    out.write('naïve ');
    out.write('e4', 'hex');
    expect(watched.digest()).toEqual({
      sha256: createHash('sha256')
        .update('naïve ')
        .update(Buffer.from([0xe4]))
        .digest('hex'),
      sizeBytes: 8,
    });
    expect(written().startsWith('naïve ')).toBe(true);
  });

  it('is counted as something else where that is asked for, up to what is held back, and written as it is', () => {
    const { out, written } = stream();
    let held = Buffer.alloc(0);
    const watched = watchOutput(out, {
      push(bytes) {
        const all = Buffer.concat([held, bytes]);
        held = all.subarray(-1);
        return Buffer.from(all.subarray(0, -1).toString().toUpperCase());
      },
      rest: () => held,
    });
    out.write('ab');
    out.write('cd');
    const digest = { sha256: createHash('sha256').update('ABCd').digest('hex'), sizeBytes: 4 };
    expect(watched.digest()).toEqual(digest);
    expect(watched.digest()).toEqual(digest);
    expect(written()).toBe('abcd');
  });
});
