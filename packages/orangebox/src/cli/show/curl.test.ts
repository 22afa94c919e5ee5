import { execFileSync } from 'node:child_process';
import { encodeBody } from '@orangebox/codec';
import { type HeaderList, OrangeboxError, type Snapshot } from '@orangebox/schema';
import { describe, expect, it } from 'vitest';
import { curlCommand as commandOf } from './curl.ts';

function snapshotOf(url: string, body: string | Uint8Array = '', headers: HeaderList = [], method = 'POST'): Snapshot {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const request = { method, url, headers, body: encodeBody(bytes), chunks: [], sent: true };
  return { exchanges: [{ request }] } as unknown as Snapshot;
}

const curlCommand = (snapshot: Snapshot, env: Record<string, string> = {}): string => commandOf(snapshot, env);

/** What curl would get: the command is run by a real shell in which `curl` only prints its arguments and input. */
function argumentsOf(command: string): string[] {
  const script = `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; if [ -p /dev/stdin ]; then printf 'stdin:'; base64 -w0; fi; }\n${command}`;
  const out = execFileSync('bash', ['-c', script], {
    env: { PATH: process.env['PATH'] ?? '', OPENAI_API_KEY: 'sk-from-env' },
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return out.toString('utf8').split('\0').slice(0, -1);
}

describe('the curl command', () => {
  it.each([
    ["it's quoted", "it's"],
    ['a command substitution stays text', '$(touch /tmp/x) `id` ${HOME}'],
    ['backslashes and newlines', 'a\\nb\nc\r\n\t'],
    ['escape sequences', '\u001b[2Jx\u202e'],
    ['a file name is no file', '@/etc/passwd'],
    ['unicode', 'Grüße 世界 👩‍👩‍👧'],
  ])('carries the body byte for byte: %s', (_what, body) => {
    const words = argumentsOf(curlCommand(snapshotOf('https://api.openai.com/v1/x', body)));
    expect(words.slice(-2)).toEqual(['--data-raw', body]);
  });

  it('carries bytes that are no text through standard input', () => {
    const command = curlCommand(snapshotOf('https://api.openai.com/v1/x', new Uint8Array([0xff, 0, 1])));
    expect(command).toMatch(/^printf %s '\/wAB' \| base64 -d \| curl .*--data-binary @-$/s);
  });

  it('writes no control character itself', () => {
    const command = curlCommand(
      snapshotOf('https://h.example/\u001b', '\u001b]0;x\u0007\u009b', [['x-a', '\u001b[2J']]),
    );
    expect(command.replaceAll('\\\n', '')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('names the key’s variable for the provider’s own host only', () => {
    const headers: HeaderList = [['Authorization', 'Bearer {{secret:authorization}}']];
    expect(argumentsOf(curlCommand(snapshotOf('https://api.openai.com/v1/x', '', headers)))).toContain(
      'Authorization: Bearer sk-from-env',
    );
    for (const url of [
      'https://evil.example/v1/x',
      'http://api.openai.com/v1/x',
      'https://api.openai.com:8443/x',
      'https://api.openai.com.evil.example/',
    ]) {
      const command = curlCommand(snapshotOf(url, '', headers));
      expect(command).not.toContain('OPENAI_API_KEY');
      expect(command).toContain('# the value of Authorization was replaced');
    }
  });

  it('names the Azure key for the one host that the user’s own endpoint has, since anyone can have a name there', () => {
    const snapshot = snapshotOf('https://mine.openai.azure.com/x', '', [['api-key', '{{secret:api-key}}']]);
    expect(curlCommand(snapshot)).not.toContain('AZURE_OPENAI_API_KEY');
    const env = { AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com/' };
    expect(curlCommand(snapshot, env)).toContain('"$AZURE_OPENAI_API_KEY"');
    expect(curlCommand(snapshot, { AZURE_OPENAI_ENDPOINT: 'https://other.openai.azure.com/' })).not.toContain(
      'AZURE_OPENAI_API_KEY',
    );
  });

  it('puts the key into the header that the provider takes it in, and into no other', () => {
    const headers: HeaderList = [['x-other-token', '{{secret:x-other-token}}']];
    expect(curlCommand(snapshotOf('https://api.openai.com/v1/x', '', headers))).not.toContain('OPENAI_API_KEY');
  });

  it('takes no header that is none, and no option from a URL', () => {
    const words = argumentsOf(
      curlCommand(
        snapshotOf('https://h.example/-K/etc/x', '', [
          ['@/etc/passwd', 'x'],
          ['x\ny', 'z'],
          ['ok', 'yes'],
        ]),
      ),
    );
    expect(words).toEqual([
      '--globoff',
      '--request',
      'POST',
      '--url',
      'https://h.example/-K/etc/x',
      '--header',
      'ok: yes',
    ]);
  });

  it.each(['file:///etc/passwd', 'gopher://h/x', 'not a url'])('is refused for %s', (url) => {
    expect(() => curlCommand(snapshotOf(url))).toThrowError(OrangeboxError);
  });

  it('is refused for a method that is none', () => {
    expect(() =>
      curlCommand(snapshotOf('https://h.example/', '', [], 'GET\u001b --upload-file /etc/passwd')),
    ).toThrowError(OrangeboxError);
  });
});
