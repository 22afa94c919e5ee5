import { describe, expect, it } from 'vitest';
import { configPath, parseConfig } from './config-file.ts';
import { readEnv } from './env.ts';

const parse = (document: unknown): ReturnType<typeof parseConfig> =>
  parseConfig(JSON.stringify(document), '/etc/obx/config.json');

describe('the config file', () => {
  it('is the named one, else that of XDG_CONFIG_HOME, else in the home directory', () => {
    const at = (env: NodeJS.ProcessEnv): string => configPath({ env: readEnv(env), cwd: '/here' });
    expect(at({ ORANGEBOX_CONFIG: 'mine.json', XDG_CONFIG_HOME: '/xdg' })).toBe('/here/mine.json');
    expect(at({ XDG_CONFIG_HOME: '/xdg' })).toBe('/xdg/orangebox/config.json');
    expect(at({})).toMatch(/\/\.config\/orangebox\/config\.json$/);
  });

  it('gives contexts, a relative directory beside the file', () => {
    const { contexts, defaultContext } = parse({
      contexts: {
        prod: {
          source: 'https://jaeger.example',
          store: 's3://bucket/x',
          s3Endpoint: 'http://s3',
          region: 'r',
          profile: 'p',
        },
        lab: { store: '../lab', headers: { 'X-Key': 'k' } },
      },
      defaultContext: 'lab',
    });
    expect(contexts.get('prod')?.store).toBe('s3://bucket/x');
    expect(contexts.get('lab')).toEqual({ store: '/etc/lab', headers: { 'X-Key': 'k' } });
    expect(defaultContext).toBe('lab');
    expect(parse({}).contexts.size).toBe(0);
  });

  it.each([
    ['a list', [], /the file must be an object/],
    ['an unknown field', { context: {} }, /unknown field "context"/],
    [
      'an unknown field of a context',
      { contexts: { a: { stor: 's3://b' } } },
      /contexts\.a has an unknown field "stor"/,
    ],
    ['a number for a text', { contexts: { a: { region: 7 } } }, /contexts\.a\.region must be a text/],
    ['an empty text', { contexts: { a: { source: ' ' } } }, /contexts\.a\.source must be a text/],
    ['a name that no option can take', { contexts: { '-x': {} } }, /cannot be a context's name/],
    ['a header of two lines', { contexts: { a: { headers: { x: 'hush\nhush' } } } }, /must be one line/],
    ['a header without a name', { contexts: { a: { headers: { '': 'hush' } } } }, /no name of a header/],
    [
      'a default that it does not describe',
      { contexts: { prod: {} }, defaultContext: 'prd' },
      /defaultContext is "prd"/,
    ],
  ])('refuses %s', (_what, document, message) => {
    const thrown = (): unknown => parse(document);
    expect(thrown).toThrow(message);
    expect(thrown).toThrow(expect.objectContaining({ code: 'OBX_CONFIG_INVALID' }));
    expect(thrown).not.toThrow(/hush/);
  });

  it('does not repeat its text when it is not JSON', () => {
    expect(() => parseConfig('{"headers": hush}', 'c.json')).toThrow(/not JSON/);
    expect(() => parseConfig('{"headers": hush}', 'c.json')).not.toThrow(/hush/);
  });
});
