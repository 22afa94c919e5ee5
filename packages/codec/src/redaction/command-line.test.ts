import { describe, expect, it } from 'vitest';
import { createRedactor } from './redactor.ts';

const VALUE = 'Zq3vT8mN1xK5pR7wY2bD';

function redacted(...words: string[]): string[] {
  return createRedactor({ secrets: [] }).words(words, 'child');
}

describe('credentials on a command line are replaced', () => {
  it.each([
    [[`--api-key=${VALUE}`], ['--api-key={{secret:argument.api-key}}']],
    [
      ['--api-key', VALUE, '--verbose'],
      ['--api-key', '{{secret:argument.api-key}}', '--verbose'],
    ],
    [
      ['--password', 'hunter2', 'go'],
      ['--password', '{{secret:argument.password}}', 'go'],
    ],
    [['--token=abc'], ['--token={{secret:argument.token}}']],
    [
      ['--github-token', VALUE],
      ['--github-token', '{{secret:argument.github-token}}'],
    ],
    [
      ['-H', `Authorization: Bearer ${VALUE}`],
      ['-H', 'Authorization: Bearer {{secret:argument.authorization}}'],
    ],
    [
      ['-H', `x-api-key: ${VALUE}`],
      ['-H', 'x-api-key: {{secret:argument.x-api-key}}'],
    ],
    [
      ['-e', `DB_PASSWORD=${VALUE}`],
      ['-e', 'DB_PASSWORD={{secret:argument.db_password}}'],
    ],
    [[`https://user:${VALUE}@host.example/`], ['https://user:{{secret:url.password}}@host.example/']],
  ])('%j', (words, expected) => {
    const out = redacted(...words);
    expect(out.join(' ')).not.toContain(VALUE);
    if (!words[0]?.startsWith('https')) expect(out).toEqual(expected);
  });

  it.each([
    [`curl -H 'Authorization: Bearer ${VALUE}' https://api.example/v1`, 'https://api.example/v1'],
    [`curl -H "x-api-key: ${VALUE}" --data '{"a":1}'`, `--data '{"a":1}'`],
    [`OPENAI_API_KEY=${VALUE} node agent.js --fast`, 'node agent.js --fast'],
    [`cd /tmp && deploy --api-key "${VALUE}" --region eu`, '" --region eu'],
    [`login --password='${VALUE}' && echo done`, `' && echo done`],
    [`login --token ${VALUE}; echo done`, '; echo done'],
  ])('in a command for a shell: %s', (command, rest) => {
    const [, out = ''] = redacted('-c', command);
    expect(out).not.toContain(VALUE);
    expect(out).toContain('{{secret:');
    expect(out).toContain(rest);
  });

  it('the same value has one token wherever it stands later, in output of a child too', () => {
    const redactor = createRedactor({ secrets: [] });
    expect(redactor.words(['--client-secret', VALUE], 'program')).toEqual([
      '--client-secret',
      '{{secret:argument.client-secret}}',
    ]);
    expect(redactor.text(`it is ${VALUE}`).text).toBe('it is {{secret:argument.client-secret}}');
    const body = redactor.body();
    const bytes = Buffer.concat([...body.push(Buffer.from(VALUE)), ...body.end()]);
    expect(bytes.toString()).toBe('{{secret:argument.client-secret}}');
  });
});

it('leaves what is none', () => {
  const words = [
    '--max-tokens',
    '500',
    '--pad-token',
    '<pad>',
    '--key',
    'name',
    '--token-limit=5',
    '-p',
    '8080',
    '--user',
    'me',
    'commit',
    '-m',
    'add a token to the key of the secret: it was lost',
    'PATH=/usr/bin',
    '--',
    '-',
    '--authority=example',
    'echo "title: a day at sea" > notes.txt',
    'https://host.example/a?b=c',
  ];
  expect(redacted(...words)).toEqual(words);
});
