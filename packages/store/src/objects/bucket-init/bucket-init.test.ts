import { readdirSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../../testing/write-segments.ts';
import { initBucket } from './init-bucket.ts';
import type { BucketInitReport, PolicyStatement } from './init-report.ts';
import { mergeRules, wantedRules } from './lifecycle.ts';
import { bucketPolicies, mergePolicy, statementsFor } from './policies.ts';

const outcomes = ({ items }: BucketInitReport): Record<string, string> =>
  Object.fromEntries(items.map(({ item, outcome }) => [item, outcome]));

describe('the policies of a bucket', () => {
  const place = { bucket: 'rec', prefix: 'team/' };
  const policies = bucketPolicies(place);

  it('let nobody but the maintainer delete, and reach no further than the prefix', () => {
    const actions = (name: keyof typeof policies): string[] =>
      policies[name].Statement.flatMap((statement) => statement.Action).sort();
    expect(actions('writer')).toEqual(['s3:GetObject', 's3:ListBucket', 's3:PutObject']);
    expect(actions('reader')).toEqual(['s3:GetObject', 's3:ListBucket']);
    expect(actions('maintainer')).toEqual(['s3:DeleteObject', 's3:GetObject', 's3:ListBucket', 's3:PutObject']);
    for (const { Statement } of Object.values(policies)) {
      expect(Statement[0]?.Condition).toEqual({ StringLike: { 's3:prefix': ['team/*'] } });
      expect(Statement[1]?.Resource).toEqual(['arn:aws:s3:::rec/team/*']);
    }
    expect(bucketPolicies({ bucket: 'rec', prefix: '' }).reader.Statement[0]?.Condition).toBeUndefined();
  });

  it('go into the policy of the bucket beside the statements of others, once', () => {
    const ours = statementsFor('reader', place, ['arn:aws:iam::1:user/r']);
    const other = { Sid: 'Other', Effect: 'Deny', Principal: '*', Action: 's3:*', Resource: '*' };
    const merged = mergePolicy(JSON.stringify({ Version: '2012-10-17', Id: 'kept', Statement: [other] }), ours) ?? '';
    const document = JSON.parse(merged) as { Id: string; Statement: PolicyStatement[] };
    expect(document).toMatchObject({ Id: 'kept', Statement: [other, ...ours] });
    expect(mergePolicy(merged, ours)).toBeUndefined();
    // A store may give a list of one back as the one.
    const flattened = merged.replaceAll('["s3:GetObject"]', '"s3:GetObject"');
    expect(mergePolicy(flattened, ours)).toBeUndefined();
    const changed = mergePolicy(merged, statementsFor('reader', place, ['arn:aws:iam::1:user/other'])) ?? '';
    expect(JSON.parse(changed)).toMatchObject({ Statement: [other, {}, {}] });
    expect(changed).not.toContain('user/r"');
    // Those of another prefix stay.
    const both = mergePolicy(merged, statementsFor('reader', { ...place, prefix: 'b/' }, ['arn:aws:iam::1:user/b']));
    expect((JSON.parse(both ?? '') as { Statement: unknown[] }).Statement).toHaveLength(5);
  });
});

describe('the lifecycle of a bucket', () => {
  it('has a rule per prefix, and none that deletes snapshots unless asked for', () => {
    expect(wantedRules({}, '').map((rule) => rule.Filter?.Prefix)).toEqual(['quarantine/v1/']);
    const rules = wantedRules({ retentionDays: 90, tier: { days: 7, storageClass: 'GLACIER_IR' } }, 'team/');
    expect(rules).toMatchObject([
      {
        Filter: { Prefix: 'team/v1/' },
        Expiration: { Days: 90 },
        Transitions: [{ Days: 7, StorageClass: 'GLACIER_IR' }],
      },
      { Filter: { Prefix: 'team/index/v1/' }, Expiration: { Days: 90 } },
      { Filter: { Prefix: 'team/quarantine/v1/' }, Expiration: { Days: 30 } },
    ]);
    expect(new Set(rules.map((rule) => rule.ID)).size).toBe(3);
  });

  it('changes our rules only, and nothing the second time', () => {
    const wanted = wantedRules({ retentionDays: 30 }, '');
    const other = { ID: 'other', Status: 'Enabled' as const, Filter: { Prefix: 'logs/' }, Expiration: { Days: 1 } };
    const { rules, hasChanged } = mergeRules([other], wanted);
    expect({ hasChanged, rules }).toEqual({ hasChanged: true, rules: [other, ...wanted] });
    expect(mergeRules(rules, wanted).hasChanged).toBe(false);
    // Older stores give the prefix back in its former place.
    const former = rules.map(({ Filter, ...rule }) => ({ ...rule, Prefix: Filter?.Prefix ?? '' }));
    expect(mergeRules(former, wanted).hasChanged).toBe(false);
    const longer = mergeRules(rules, wantedRules({ retentionDays: 60 }, ''));
    expect(longer.hasChanged).toBe(true);
    expect(longer.rules).toHaveLength(4);
    // Those of another prefix stay, however alike they are.
    const slash = wantedRules({ retentionDays: 1 }, 'eu/prod/');
    const hyphen = wantedRules({ retentionDays: 365 }, 'eu-prod/');
    expect(mergeRules(hyphen, slash).rules).toEqual([...hyphen, ...slash]);
    const foreign = { ...other, Filter: { Prefix: 'v1/' } };
    expect(mergeRules([foreign], wanted).foreign).toEqual(['v1/']);
    expect(mergeRules([foreign], wanted).rules).toContain(foreign);
  });
});

describe('setting a directory up', () => {
  it('makes it, once, and only where that is wanted', async () => {
    const { path, remove } = temporaryDirectory();
    try {
      const options = { env: {}, cwd: path };
      expect(outcomes(await initBucket('rec', { ...options, dryRun: true }))['bucket']).toBe('planned');
      expect(() => statSync(join(path, 'rec'))).toThrow();
      expect(await initBucket('rec', options)).toMatchObject({ hasChanged: true, location: join(path, 'rec') });
      expect(statSync(join(path, 'rec')).mode & 0o777).toBe(0o700);
      expect(outcomes(await initBucket('rec', options))['lifecycle']).toBe('not_offered');
      expect(await initBucket(`file://${path}/rec`, options)).toMatchObject({ location: join(path, 'rec') });
      await expect(initBucket('https://minio:9000/rec', options)).rejects.toMatchObject({ code: 'OBX_STORE_URL' });
      expect(readdirSync(path)).toEqual(['rec']);
    } finally {
      remove();
    }
  });
});

describe('setting a bucket up in a store that has little', () => {
  let server: Server;
  let endpoint: string;
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let requests: string[];
  beforeEach(async () => {
    requests = [];
    server = createServer((request, response) => {
      requests.push(`${request.method} ${request.url?.replace(/[?&]x-id=\w+/, '')}`);
      request.resume();
      request.on('end', () => answer(request, response));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });
  const refuse = (response: ServerResponse, status: number, code: string): void => {
    response.writeHead(status).end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
  };
  const init = (): Promise<BucketInitReport> =>
    initBucket('s3://rec', {
      env: { AWS_ENDPOINT_URL_S3: endpoint, AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' },
      s3: { maxAttempts: 1 },
      retentionDays: 30,
      readers: ['arn:aws:iam::1:user/r'],
    });

  it.each([
    [501, 'NotImplemented', 'not_offered'],
    [400, 'MalformedXML', 'not_offered'],
    [403, 'AccessDenied', 'denied'],
  ])('says what is answered %d %s, part by part, and fails at none', async (status, code, outcome) => {
    answer = (request, response) => {
      if (request.method === 'HEAD') response.end();
      else refuse(response, status, code);
    };
    const parts = { public_access: outcome, encryption: outcome, lifecycle: outcome, policy: outcome };
    expect(outcomes(await init())).toEqual({ bucket: 'unchanged', ...parts });
  });

  it('fails when the bucket itself cannot be looked at, or the store breaks', async () => {
    answer = (_request, response) => refuse(response, 403, 'AccessDenied');
    await expect(init()).rejects.toMatchObject({ code: 'OBX_STORE_DENIED' });
    answer = (request, response) => {
      if (request.method === 'HEAD') response.end();
      else refuse(response, 500, 'InternalError');
    };
    await expect(init()).rejects.toMatchObject({ code: 'OBX_STORE_UNREACHABLE' });
  });

  it('takes encryption back where the store agrees to it and then takes no object', async () => {
    answer = (request, response) => {
      const url = request.url ?? '';
      if (url.includes('encryption') && request.method === 'GET') {
        refuse(response, 404, 'ServerSideEncryptionConfigurationNotFoundError');
      } else if (url.includes('orangebox-bucket-init')) refuse(response, 500, 'InternalError');
      else response.end();
    };
    const report = await init();
    expect(outcomes(report)['encryption']).toBe('not_offered');
    expect(report.items.find(({ item }) => item === 'encryption')?.detail).toContain('taken back');
    expect(requests.filter((line) => /^DELETE .*encryption/.test(line))).toHaveLength(1);
  });
});
