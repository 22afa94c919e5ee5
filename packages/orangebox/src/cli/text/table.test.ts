import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { cut, renderTable } from './table.ts';

describe('tables', () => {
  const rows = [
    { name: 'short', value: '1' },
    { name: 'a name that goes on and on without an end in sight', value: '1234567' },
    { name: '世界世界世界世界世界世界世界世界世界世界', value: '22' },
  ];
  const columns = [
    { title: 'name', cell: (r: (typeof rows)[number]) => r.name, shrinkTo: 10 },
    { title: 'value', cell: (r: (typeof rows)[number]) => r.value, align: 'right' as const },
    { title: 'empty', cell: () => '' },
  ];

  it('fit the width, also with characters that take two columns', () => {
    for (const width of [24, 40, 60]) {
      for (const line of renderTable(rows, columns, { width })) expect(stringWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  it('leave out columns in which no row has anything', () => {
    expect(renderTable(rows, columns, { width: 80 })[0]).not.toContain('empty');
  });

  it('leave out the least important columns where nothing else helps', () => {
    const wide = [
      { title: 'keep', cell: () => 'x'.repeat(10) },
      { title: 'second', cell: () => 'y'.repeat(10), dropFirst: 2 },
      { title: 'first', cell: () => 'z'.repeat(10), dropFirst: 1 },
    ];
    expect(renderTable([0], wide, { width: 40 })[0]).toMatch(/keep +second +first/);
    expect(renderTable([0], wide, { width: 24 })[0]).toMatch(/keep +second$/);
    expect(renderTable([0], wide, { width: 12 })[0]).toBe('keep');
  });

  it('align numbers to the right', () => {
    const lines = renderTable(rows, columns, { width: 80 });
    expect(new Set(lines.slice(1).map((line) => stringWidth(line))).size).toBe(1);
  });

  it('never cut a character in two', () => {
    expect(cut('世界世界', 4)).toBe('世…');
    expect(cut('👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…');
    expect(cut('plain', 5)).toBe('plain');
  });
});
