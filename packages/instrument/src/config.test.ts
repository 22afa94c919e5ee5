import { describe, expect, it } from 'vitest';
import { readInstrumentConfig } from './config.ts';
import { createFaults } from './faults.ts';

const read = (env: {
  [name: string]: string;
}): { config: ReturnType<typeof readInstrumentConfig>; lines: string[] } => {
  const lines: string[] = [];
  return { config: readInstrumentConfig(env, (line) => lines.push(line)), lines };
};

describe('configuration', () => {
  it('has defaults', () => {
    expect(read({}).config).toMatchObject({ level: 'full', exitFlushMs: 500, runReport: undefined });
  });

  it('is read from the environment', () => {
    const env = { ORANGEBOX_LEVEL: ' OFF ', ORANGEBOX_EXIT_FLUSH_MS: '0', ORANGEBOX_RUN_REPORT: '/x' };
    expect(read(env)).toMatchObject({ config: { level: 'off', exitFlushMs: 0, runReport: '/x' }, lines: [] });
  });

  it.each([
    ['ORANGEBOX_LEVEL', 'loud'],
    ['ORANGEBOX_EXIT_FLUSH_MS', 'soon'],
    ['ORANGEBOX_EXIT_FLUSH_MS', '-1'],
    ['ORANGEBOX_EXIT_FLUSH_MS', '1e9'],
  ])('warns of %s=%s and falls back', (name, value) => {
    const { config, lines } = read({ [name]: value });
    expect(config).toMatchObject({ level: 'full', exitFlushMs: 500 });
    expect(lines).toEqual([expect.stringContaining(`${name}="${value}"`)]);
  });
});

describe('faults', () => {
  it('are counted each time and said once a place', () => {
    const lines: string[] = [];
    const faults = createFaults((line) => lines.push(line));
    faults.note('here', new Error('a\nb'));
    faults.note('here', new Error('c'));
    faults.note('there', 'd');
    expect(faults.counts).toEqual({ here: 2, there: 1 });
    expect(lines).toEqual([
      'orangebox: here failed, the program is not affected: Error: a\n',
      'orangebox: there failed, the program is not affected: d\n',
    ]);
  });

  it('survive a stderr that throws and an error that cannot be shown', () => {
    const faults = createFaults(() => {
      throw new Error('closed');
    });
    const hostile = {
      toString: () => {
        throw new Error('no');
      },
    };
    expect(() => faults.note('x', hostile)).not.toThrow();
  });
});
