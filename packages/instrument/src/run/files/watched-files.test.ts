import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FileChange, FileState, RunRecord } from '@orangebox/schema';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ContentStore } from './content-store.ts';
import { holdsNamedSecret, isSecretName } from './secret-names.ts';
import { type FilesHost, WatchedFiles } from './watched-files.ts';

let root: string;
let records: RunRecord[];
let gaps: string[];
let files: WatchedFiles;
let recordings: string;
const SECRET = 'planted-0123456789';

const watching = (more: Partial<FilesHost> = {}): WatchedFiles =>
  new WatchedFiles(root, [recordings], {
    record: (record) => void records.push(record),
    notReplayable: (what) => void gaps.push(what),
    holdsSecret: (bytes) => Buffer.from(bytes).includes(SECRET),
    store: new ContentStore(recordings),
    key: Buffer.alloc(32, 7),
    ...more,
  });

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'obx-watched-'));
  recordings = join(root, '.orangebox');
  records = [];
  gaps = [];
  files = watching();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const put = (path: string, content: string | Uint8Array): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
};
const hashOf = (content: string): string => createHash('sha256').update(content).digest('hex');
const kept = (content: string): boolean => existsSync(join(recordings, 'files', hashOf(content)));
const start = (): FileState[] => records.flatMap((record) => (record.type === 'runFiles' ? record.files : []));
const changesOf = (child?: number): FileChange[] =>
  records.flatMap((record) => (record.type === 'filesChanged' && record.child === child ? record.changes : []));
const named = (changes: FileChange[]): string[] => changes.map(({ kind, file }) => `${kind} ${file.path}`);

describe('the files of a recorded run', () => {
  it('are on record as they were at the start, and their contents beside it for nobody else to read', () => {
    put('a.txt', 'alpha');
    put('src/b.txt', 'alpha');
    symlinkSync('a.txt', join(root, 'link'));
    files.begin();
    expect(start().map(({ path, type }) => [path, type])).toEqual([
      ['a.txt', 'file'],
      ['link', 'link'],
      ['src', 'directory'],
      ['src/b.txt', 'file'],
    ]);
    expect(start()[0]).toMatchObject({ sha256: hashOf('alpha'), sizeBytes: 5 });
    expect(start()[1]?.target).toBe('a.txt');
    expect(readdirSync(join(recordings, 'files'))).toEqual([hashOf('alpha')]);
    expect(readFileSync(join(recordings, 'files', hashOf('alpha')), 'utf8')).toBe('alpha');
    expect(statSync(join(recordings, 'files', hashOf('alpha'))).mode & 0o777).toBe(0o600);
    expect(statSync(join(recordings, 'files')).mode & 0o777).toBe(0o700);
  });

  it('are those of the program: nothing installed, nothing of git but that it is there, no recording', () => {
    put('node_modules/x/index.js', 'x');
    put('.git/HEAD', 'ref: refs/heads/main\n');
    put('.git/config', 'token');
    put('.orangebox/segments/s', 's');
    files.begin();
    expect(start().map(({ path }) => path)).toEqual(['.git', '.git/HEAD']);
  });

  it('are told what changed since the last look, with who made it', () => {
    put('a.txt', 'alpha');
    put('b.txt', 'beta');
    files.begin();
    put('a.txt', 'ALPHA');
    files.look();
    put('new/c.txt', 'gamma');
    rmSync(join(root, 'b.txt'));
    chmodSync(join(root, 'a.txt'), 0o755);
    files.look({ seq: 9, file: 'sh' });
    files.look();
    expect(named(changesOf())).toEqual(['changed a.txt']);
    expect(named(changesOf(9))).toEqual(['deleted b.txt', 'changed a.txt', 'created new', 'created new/c.txt']);
    expect(changesOf(9)[1]?.file.mode).toBe(0o755);
    expect(kept('gamma')).toBe(true);
    expect(gaps).toEqual([]);
  });

  it('are no others where one was only touched', () => {
    put('a.txt', 'alpha');
    files.begin();
    put('a.txt', 'alpha');
    files.look({ seq: 1, file: 'touch' });
    expect(changesOf(1)).toEqual([]);
  });

  it('have a directory that became a file taken away first', () => {
    put('a/b.txt', 'beta');
    files.begin();
    rmSync(join(root, 'a'), { recursive: true });
    put('a', 'now a file');
    files.look({ seq: 1, file: 'sh' });
    expect(named(changesOf(1))).toEqual(['deleted a/b.txt', 'deleted a', 'created a']);
  });

  it('keep no content that holds a secret, or is called like one, nor a hash that it could be tried with', () => {
    put('.env', 'PIN=1234');
    put('notes.txt', `key ${SECRET}`);
    put('settings.conf', 'DB_PASSWORD=hunter2hunter2');
    files.begin();
    for (const file of start()) expect(Object.keys(file)).toEqual(['path', 'type', 'mode', 'sizeBytes', 'keyedHash']);
    expect(existsSync(join(recordings, 'files'))).toBe(false);
    expect(JSON.stringify(records)).not.toContain(hashOf('PIN=1234'));
    files.look();
    expect(changesOf()).toEqual([]);
    put('.env', 'PIN=5678');
    files.look({ seq: 3, file: 'sh' });
    expect(named(changesOf(3))).toEqual(['changed .env']);
    expect(gaps).toEqual(['content of .env before the run changed it', 'content of .env, which sh changed']);
  });

  it('are known by hash only where they are large, and named where the run changes them', () => {
    put('big.bin', Buffer.alloc(1024 * 1024 + 1, 1));
    put('other.bin', Buffer.alloc(1024 * 1024 + 1, 2));
    files.begin();
    expect(start()[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(existsSync(join(recordings, 'files'))).toBe(false);
    put('big.bin', 'small now');
    files.look();
    expect(gaps).toEqual(['content of big.bin before the run changed it']);
  });

  it('are not called deleted where new ones push them out of what is looked at, nor made where they come back', () => {
    files = watching({ maxEntries: 4 });
    for (const path of ['a/1.txt', 'a/2.txt', 'b.txt', 'a/3.txt', 'a/4.txt']) put(path, path);
    files.begin();
    expect(start().map(({ path }) => path)).toEqual(['a', 'b.txt', 'a/1.txt', 'a/2.txt']);
    put('c.txt', 'new');
    put('d.txt', 'new');
    files.look();
    expect(named(changesOf())).toEqual(['created c.txt', 'created d.txt']);
    put('a/1.txt', 'changed out of sight');
    rmSync(join(root, 'a/2.txt'));
    files.look({ seq: 5, file: 'sh' });
    expect(named(changesOf(5))).toEqual(['deleted a/2.txt', 'changed a/1.txt']);
    for (const path of ['b.txt', 'c.txt', 'd.txt']) rmSync(join(root, path));
    files.look({ seq: 6, file: 'sh' });
    expect(named(changesOf(6)).sort()).toEqual(['deleted b.txt', 'deleted c.txt', 'deleted d.txt']);
    expect(gaps).toEqual(['files of the working directory beyond 4']);
  });

  it('are told not to be all known where they become too many while the program runs', () => {
    files = watching({ maxEntries: 2 });
    put('a.txt', 'a');
    put('b/c.txt', 'c');
    rmSync(join(root, 'b'), { recursive: true });
    files.begin();
    expect(gaps).toEqual([]);
    put('b/c.txt', 'c');
    files.look();
    expect(named(changesOf())).toEqual(['created b']);
    expect(gaps).toEqual(['files of the working directory beyond 2']);
  });

  it('do not lead elsewhere: a link is recorded, and what it leads to is not', () => {
    const outside = mkdtempSync(join(tmpdir(), 'obx-outside-'));
    try {
      writeFileSync(join(outside, 'x.txt'), 'x');
      symlinkSync(outside, join(root, 'out'));
      files.begin();
      expect(start().map(({ path, target }) => [path, target])).toEqual([['out', outside]]);
    } finally {
      rmSync(outside, { recursive: true });
    }
  });
});

it.each([
  '.env',
  '.env.local',
  'prod.env',
  'server.pem',
  'id_ed25519',
  'credentials.json',
  'aws-credentials',
  '.npmrc',
  '.envrc',
  'prod.tfvars',
  '.dev.vars',
  'secrets.yaml',
  'secrets.enc',
  'kubeconfig',
  'staging.kubeconfig',
  '.netrc',
  '.pypirc',
  '.pgpass',
  'database.yml',
  'release.jks',
  'debug.keystore',
  'key.ppk',
  'service-account-prod.json',
])('%s is called like a secret', (name) => expect(isSecretName(`a/${name}`)).toBe(true));
it.each(['environment.ts', 'secret-finder.ts', 'keys.ts', 'README.md', 'identity.txt', 'tokens.ts'])(
  '%s is not',
  (name) => expect(isSecretName(`.env/${name}`)).toBe(false),
);

it.each([
  ['a.conf', 'x=1\nDB_PASSWORD=hunter2hunter2\n'],
  ['a.sh', 'export API_TOKEN="abcdefgh"'],
  ['a.yml', 'db:\r\n  password: hunter2hunter2\r\n'],
  ['a.yml', '- api_key: abcd-efgh'],
  ['a.json', '{"name": "x", "clientSecret": "abcdefgh"}'],
  ['a.ts', "  apiKey: 'abcdefgh',"],
])('%s with %j holds the value of a secret', (path, text) =>
  expect(holdsNamedSecret(path, Buffer.from(text))).toBe(true),
);
it.each([
  ['a.conf', 'DB_PASSWORD=short\n'],
  ['a.sh', 'export API_TOKEN="${OTHER_TOKEN}"'],
  ['a.sh', 'API_TOKEN=$OTHER_TOKEN'],
  ['a.md', 'API_KEY=<your key here>'],
  ['a.ts', '  apiKey: process.env.OPENAI_API_KEY,'],
  ['a.ts', '  apiKey: string | undefined;\n  token = readToken();'],
  ['a.yml', 'name: a long value'],
  ['a.json', '{"max_tokens": 1024, "keys": ["abcdefgh"]}'],
  ['a.bin', 'DB_PASSWORD=hunter2hunter2\0'],
  ['a.txt', `DB_PASSWORD=hunter2hunter2\n${'x'.repeat(65_536)}`],
])('%s with %j does not', (path, text) => expect(holdsNamedSecret(path, Buffer.from(text))).toBe(false));

it('a text that was made to be slow to look through is not', () => {
  for (const part of ['{', ',a:"', '{ ', 'export ', '- ', 'KEY:', "{'", 'a', ' ']) {
    const bytes = Buffer.from(part.repeat(65_536 / part.length));
    const startedMs = performance.now();
    holdsNamedSecret('a.txt', bytes);
    expect(performance.now() - startedMs).toBeLessThan(1000);
  }
});
