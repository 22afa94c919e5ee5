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
      head: Buffer.concat([Buffer.from('naïve '), Buffer.from([0xe4])]).toString('base64'),
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
    const sha256 = createHash('sha256').update('ABCd').digest('hex');
    const digest = { sha256, sizeBytes: 4, head: Buffer.from('ABCd').toString('base64') };
    expect(watched.digest()).toEqual(digest);
    expect(watched.digest()).toEqual(digest);
    expect(written()).toBe('abcd');
  });

  it('counts no more than it is told to, and keeps the first 64 KiB', () => {
    const { out } = stream();
    const [few, all] = [watchOutput(out, undefined, 5), watchOutput(out)];
    for (let i = 0; i < 40; i++) out.write('0123456789'.repeat(200));
    expect(few.digest()).toEqual({
      sha256: createHash('sha256').update('01234').digest('hex'),
      sizeBytes: 5,
      head: Buffer.from('01234').toString('base64'),
    });
    expect(all.digest()).toMatchObject({ sizeBytes: 80_000 });
    expect(Buffer.from(all.digest().head ?? '', 'base64').toString()).toBe('0123456789'.repeat(8000).slice(0, 65_536));
  });
});
