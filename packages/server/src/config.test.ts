import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseListen, readArchiveConfig } from './config.ts';

const STORE = { ORANGEBOX_STORE: 's3://recordings/prod' };
let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'obx-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function file(text: string): string {
  const path = join(directory, `${Math.floor(performance.now() * 1e6)}`);
  writeFileSync(path, text);
  return path;
}

it('needs a store and nothing else', () => {
  expect(readArchiveConfig(STORE)).toEqual({
    store: 's3://recordings/prod',
    host: '127.0.0.1',
    port: 4330,
    tokens: [],
    metricsPublic: false,
    writesIndex: true,
    limits: {},
  });
  expect(() => readArchiveConfig({})).toThrow(expect.objectContaining({ code: 'OBX_ARCHIVE_CONFIG' }));
});

it('takes options before variables', () => {
  const env = {
    ...STORE,
    ORANGEBOX_ARCHIVE_LISTEN: '0.0.0.0:1',
    ORANGEBOX_ARCHIVE_MEMORY_BYTES: '64MiB',
    ORANGEBOX_ARCHIVE_MAX_REQUEST_BYTES: '8m',
    ORANGEBOX_ARCHIVE_MAX_CONNECTIONS: '7',
    ORANGEBOX_ARCHIVE_WRITES: '3',
    ORANGEBOX_ARCHIVE_METRICS_PUBLIC: 'true',
    ORANGEBOX_ARCHIVE_INDEX: 'off',
  };
  const limits = { memoryBytes: 64 * 1024 ** 2, requestBytes: 8 * 1024 ** 2, connections: 7, writes: 3 };
  const facts = { host: '0.0.0.0', port: 1, metricsPublic: true, writesIndex: false };
  expect(readArchiveConfig(env)).toMatchObject({ ...facts, limits });
  const flags = { store: 'here', listen: '[::1]:2', memoryBytes: '1g', writes: '4' };
  expect(readArchiveConfig(env, flags)).toMatchObject({
    store: 'here',
    host: '::1',
    port: 2,
    limits: { ...limits, memoryBytes: 1024 ** 3, writes: 4 },
  });
});

it.each([
  ['4330', '127.0.0.1', 4330],
  ['0.0.0.0', '0.0.0.0', 4330],
  [':9', '0.0.0.0', 9],
  ['[::]:9', '::', 9],
  ['archiver.example:80', 'archiver.example', 80],
])('reads %s as an address to listen on', (text, host, port) => {
  expect(parseListen(text)).toEqual({ host, port });
});

describe('ends the archiver rather than guess', () => {
  it.each([
    { ORANGEBOX_ARCHIVE_LISTEN: '::1:4330' },
    { ORANGEBOX_ARCHIVE_LISTEN: 'host:99999' },
    { ORANGEBOX_ARCHIVE_LISTEN: 'http://host' },
    { ORANGEBOX_ARCHIVE_MEMORY_BYTES: 'much' },
    { ORANGEBOX_ARCHIVE_MEMORY_BYTES: '1MiB' },
    { ORANGEBOX_ARCHIVE_WRITES: '0' },
    { ORANGEBOX_ARCHIVE_MAX_CONNECTIONS: '-1' },
    { ORANGEBOX_ARCHIVE_TOKEN: ' , ' },
    { ORANGEBOX_ARCHIVE_TOKEN: 'two words' },
    { ORANGEBOX_ARCHIVE_TOKEN_FILE: '/nowhere/at/all' },
    { ORANGEBOX_ARCHIVE_TLS_CERT: '/nowhere/at/all' },
  ])('at %o', (env) => {
    expect(() => readArchiveConfig({ ...STORE, ...env })).toThrow(
      expect.objectContaining({ code: 'OBX_ARCHIVE_CONFIG', hint: expect.any(String) }),
    );
  });

  it.each([
    [{ memoryBytes: '5' }, {}, '--memory-bytes must be from 32 MiB to 64 GiB', 'leave it out for 256 MiB'],
    [{}, { ORANGEBOX_ARCHIVE_MEMORY_BYTES: '5' }, 'ORANGEBOX_ARCHIVE_MEMORY_BYTES must be from 32 MiB to 64 GiB', ''],
    [{ maxRequestBytes: '5' }, {}, '--max-request-bytes must be from 64 KiB to 1 GiB', 'leave it out for 64 MiB'],
    [{ maxConnections: '0' }, {}, '--max-connections must be from 1 to 100,000', 'leave it out for 1,024'],
    [{ writes: 'x' }, { ORANGEBOX_ARCHIVE_WRITES: '2' }, '--writes must be from 1 to 1,024', 'leave it out for 16'],
  ])('names what was typed, %o or %o, and sizes in their units', (flags, env, message, hint) => {
    expect(() => readArchiveConfig({ ...STORE, ...env }, flags)).toThrow(
      expect.objectContaining({ message, hint: expect.stringContaining(hint) }),
    );
  });

  it('at a token file that holds none', () => {
    const flags = { tokenFile: file('# nothing here\n\n') };
    expect(() => readArchiveConfig(STORE, flags)).toThrow(expect.objectContaining({ code: 'OBX_ARCHIVE_CONFIG' }));
  });
});

it('takes tokens of the variable and of the file together', () => {
  const flags = { tokenFile: file('# renewed in March\nthird\r\n\n  fourth \n') };
  expect(readArchiveConfig({ ...STORE, ORANGEBOX_ARCHIVE_TOKEN: 'first, second' }, flags).tokens).toEqual([
    'first',
    'second',
    'third',
    'fourth',
  ]);
});

it('reads certificates', () => {
  const [tlsCert, tlsKey, tlsClientCa] = ['cert', 'key', 'ca'].map(file);
  expect(readArchiveConfig(STORE, { tlsCert, tlsKey, tlsClientCa }).tls).toEqual({
    cert: 'cert',
    key: 'key',
    clientCa: 'ca',
  });
});

it('takes no token that a collector would send as another: it unfolds dollar signs in its environment', () => {
  for (const token of ['a$$b', 'a${env:HOME}b', 'right,a$b']) {
    const env = { ORANGEBOX_STORE: '/store', ORANGEBOX_ARCHIVE_TOKEN: token };
    expect(() => readArchiveConfig(env)).toThrow(/a token has characters/);
  }
});
