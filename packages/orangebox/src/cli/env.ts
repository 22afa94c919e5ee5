/** Every environment variable that the command reads, in one place. `docs/cli.md` lists them. */

/** What the environment says to the command. */
export interface CliEnv {
  /** `ORANGEBOX_DIR`. */
  dir: string | undefined;
  /** `ORANGEBOX_STORE`: `s3://bucket/prefix`, or a directory of snapshots. */
  store: string | undefined;
  /** `ORANGEBOX_SOURCE`: base URL of a Jaeger or Tempo query API, or `local`. */
  source: string | undefined;
  /** `ORANGEBOX_SOURCE_HEADERS`, as set: `name=value` pairs. Secret. */
  sourceHeaders: string | undefined;
  /** `ORANGEBOX_CONTEXT`: a context of the config file. */
  contextName: string | undefined;
  /** `ORANGEBOX_CONFIG`: the config file. */
  configFile: string | undefined;
  /** `XDG_CONFIG_HOME`. */
  configHome: string | undefined;
  /** `ORANGEBOX_DEBUG`: stack traces of errors. */
  debug: boolean;
  /** What a person types to get here again: under `npx` (`npm_command=exec`) that is not on the PATH by itself. */
  commandName: string;
  noColor: boolean;
  /** `FORCE_COLOR`; undefined when not set. */
  forceColor: boolean | undefined;
  term: string | undefined;
  nodeOptions: string | undefined;
  /** Every `ORANGEBOX_*` variable that is set, for `doctor`. */
  recording: { readonly [name: string]: string };
  /** Everything, for children and for credentials at resend. */
  all: NodeJS.ProcessEnv;
}

/** Reads the environment. Empty values count as not set. */
export function readEnv(env: NodeJS.ProcessEnv = process.env): CliEnv {
  const get = (name: string): string | undefined => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  };
  const force = env['FORCE_COLOR'];
  return {
    dir: get('ORANGEBOX_DIR'),
    store: get('ORANGEBOX_STORE'),
    source: get('ORANGEBOX_SOURCE'),
    sourceHeaders: get('ORANGEBOX_SOURCE_HEADERS'),
    contextName: get('ORANGEBOX_CONTEXT'),
    configFile: get('ORANGEBOX_CONFIG'),
    configHome: get('XDG_CONFIG_HOME'),
    debug: isOn(get('ORANGEBOX_DEBUG')),
    commandName: get('npm_command') === 'exec' ? 'npx orangebox' : 'orangebox',
    noColor: get('NO_COLOR') !== undefined,
    forceColor: force === undefined ? undefined : force !== '0' && force !== 'false',
    term: get('TERM'),
    nodeOptions: get('NODE_OPTIONS'),
    recording: Object.fromEntries(
      Object.entries(env).filter((pair): pair is [string, string] => pair[0].startsWith('ORANGEBOX_') && !!pair[1]),
    ),
    all: env,
  };
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '0' && value.toLowerCase() !== 'false';
}
