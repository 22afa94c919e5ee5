import { createRequire } from 'node:module';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { describe, expect, it } from 'vitest';
import { GEN_AI, HTTP_ATTR, METRIC, SEMCONV_SCHEMA_URL, SEMCONV_VERSION } from './index.ts';

const names = new Set(Object.values(conventions).filter((value) => typeof value === 'string'));

describe('attribute names', () => {
  it('are those of the semantic conventions', () => {
    for (const name of [...Object.values(GEN_AI), ...Object.values(HTTP_ATTR)]) expect(names).toContain(name);
    for (const name of Object.values(METRIC)) if (!name.startsWith('orangebox.')) expect(names).toContain(name);
  });

  it('state the version of the conventions they are taken from', () => {
    const require = createRequire(import.meta.url);
    // The package exports neither its package.json nor a version.
    const path = require.resolve('@opentelemetry/semantic-conventions').replace(/dist\/.*$/, 'package.json');
    const { version } = require(path) as { version: string };
    expect(SEMCONV_VERSION).toBe(version);
    expect(SEMCONV_SCHEMA_URL).toBe(`https://opentelemetry.io/schemas/${version}`);
  });
});
