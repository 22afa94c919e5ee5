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
    [`curl -H "Cookie: p=\\"x\\"; sid=${VALUE}" https://h.example`, '" https://h.example'],
    [`kubectl create secret generic x --from-literal=password=${VALUE} -n y`, ' -n y'],
    [`docker build --build-arg=NPM_TOKEN=${VALUE} .`, ' .'],
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

it('leaves references, code and settings', () => {
  const words = [
    'curl -H "Authorization: Bearer $OPENAI_API_KEY" https://api.example/v1',
    'TOKEN=$GITHUB_TOKEN gh pr list',
    'deploy --token "$(cat token)" --password ${DB_PASSWORD}',
    `python -c 'tokenizer=AutoTokenizer.from_pretrained("gpt2")'`,
    'codex exec -c max_output_tokens=1000',
    'max_tokens=4096',
  ];
  const redactor = createRedactor({ secrets: [] });
  expect(redactor.words(words, 'child')).toEqual(words);
  expect(redactor.text('AutoTokenizer.from_pretrained and $OPENAI_API_KEY').redactions).toEqual([]);
});

it('takes no longer for what is made to be searched again and again', () => {
  for (const piece of ['a: ', `';--key='`, `'"--a="`, '--token=', 'x-api-key: "', '--token     ', 'A_KEY="\\\\']) {
    const word = piece.repeat(Math.ceil(2_000_000 / piece.length));
    const beganMs = performance.now();
    redacted('-c', word);
    expect(performance.now() - beganMs).toBeLessThan(4000);
  }
});

it('does not push out what was learned from requests', () => {
  const redactor = createRedactor({ secrets: [] });
  redactor.headers([['authorization', `Bearer ${VALUE}`]], 'request');
  const commands = Array.from({ length: 100 }, (_, i) => `A_KEY=zzzzzzzzzz1234567890${i}`);
  redactor.words(commands, 'child');
  expect(redactor.text(VALUE).text).toBe('{{secret:authorization}}');
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
