import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DOCUMENTED_CHANNELS, DOCUMENTED_LISTENERS, DOCUMENTED_METHODS, isDocumentedPatch } from './documented.ts';

const page = readFileSync(new URL('../../../../../docs/capture.md', import.meta.url), 'utf8');

describe('what the audit takes as documented', () => {
  it('stands in docs/capture.md, every name of it', () => {
    const names = [
      ...DOCUMENTED_CHANNELS,
      ...DOCUMENTED_LISTENERS,
      ...Object.values(DOCUMENTED_METHODS).flatMap((set) => [...set]),
    ];
    expect(names.filter((name) => !page.includes(name))).toEqual([]);
    expect(page).toContain("Symbol.for('orangebox.runtime.1')");
  });

  it('has the functions of http only where Node.js publishes no requests', () => {
    expect(isDocumentedPatch('http.request', '20.20.2')).toBe(true);
    expect(isDocumentedPatch('https.get', '22.11.0')).toBe(true);
    expect(isDocumentedPatch('http.request', '22.12.0')).toBe(false);
    expect(isDocumentedPatch('https.get', '26.1.0')).toBe(false);
    expect(isDocumentedPatch('globalThis.fetch', '20.20.2')).toBe(false);
  });
});
