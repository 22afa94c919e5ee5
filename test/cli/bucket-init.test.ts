/** `orangebox bucket init` against a server that notes what it is asked to set. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CliResult, cliBeside } from './spawn.ts';

let cwd: string;
let server: Server;
let env: { [name: string]: string };
/** Bodies of what was set, by the part of the bucket. */
const set = new Map<string, string>();

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'obx-cli-bucket-'));
  server = createServer((request, response) => {
    const [part = ''] = new URL(request.url ?? '/', 'http://localhost').searchParams.keys();
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const isThere = request.method !== 'GET';
      if (request.method === 'PUT') set.set(part, body);
      response.writeHead(isThere ? 200 : 404, { 'content-type': 'application/xml' });
      response.end(isThere ? '' : '<Error><Code>NoSuchConfiguration</Code></Error>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  env = {
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_ACCESS_KEY_ID: 'id',
    AWS_SECRET_ACCESS_KEY: 'secret',
    XDG_CONFIG_HOME: cwd,
  };
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(cwd, { recursive: true });
});

const init = (...args: string[]): Promise<CliResult> => cliBeside(['bucket', 'init', ...args], { cwd, env });

it('sets what its options say', async () => {
  const people = ['--writer', 'arn:aws:iam::1:user/w', '--reader', 'arn:aws:iam::1:user/r', '123456789012'];
  const days = ['--retention-days', '90', '--quarantine-days', '7', '--tier', 'glacier_ir:30'];
  const result = await init('s3://recordings/base', ...people, ...days, '--kms-key', 'alias/recordings', '--yes');
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(set.get('encryption')).toContain('<KMSMasterKeyID>alias/recordings</KMSMasterKeyID>');
  const rules = set.get('lifecycle') ?? '';
  expect(rules).toContain('<Transition><Days>30</Days><StorageClass>GLACIER_IR</StorageClass></Transition>');
  expect([...rules.matchAll(/<Expiration><Days>(\d+)</g)].map(([, count]) => count)).toEqual(['90', '90', '7']);
  const { Statement } = JSON.parse(set.get('policy') ?? '{}') as { Statement: { Sid: string; Principal: object }[] };
  const principals = Statement.map(({ Sid, Principal }) => [Sid.slice(0, 15), Principal]);
  expect(principals).toContainEqual(['OrangeboxWriter', { AWS: ['arn:aws:iam::1:user/w'] }]);
  expect(principals).toContainEqual(['OrangeboxReader', { AWS: ['arn:aws:iam::1:user/r', '123456789012'] }]);
});

it('opens no bucket to everybody, and takes no bucket for a person', async () => {
  set.clear();
  for (const args of [
    ['s3://recordings', '--reader', '*'],
    ['s3://recordings', '--writer', 'somebody'],
    ['--writer', 'arn:aws:iam::1:user/w', 's3://recordings'],
  ]) {
    const result = await init(...args, '--yes');
    expect(result, args.join(' ')).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr, args.join(' ')).toMatch(/--(reader|writer) takes .*\n.*arn:aws:iam::/s);
  }
  expect([...set.keys()]).toEqual([]);
});
