/** The collector, with a configuration file as it is shipped. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { binaryOf } from './binary.ts';
import { withExtras } from './extras.ts';
import { freePorts } from './ports.ts';
import { cleanEnvironment, type Environment, type RunningServer, serverDirectory, startServer } from './process.ts';

/** A collector. `url` is its metadata endpoint; a configuration that has no such port does not listen there. */
export interface CollectorServer extends RunningServer {
  /** OTLP/HTTP of metadata (spans and metrics); the same as `url`. */
  readonly metadataUrl: string;
  /** OTLP/HTTP of payloads. */
  readonly payloadUrl: string;
  /** `/metrics` of what went through it: span metrics, and metrics that programs sent. */
  readonly metricsUrl: string;
  /** `/metrics` about the collector itself. */
  readonly telemetryUrl: string;
}

/** Ports and folders of a collector, as the shipped files name them. */
async function places(directory: string): Promise<Record<string, string>> {
  const names = ['METADATA', 'METADATA_GRPC', 'PAYLOAD', 'HEALTH', 'METRICS', 'TELEMETRY'];
  const ports = await freePorts(names.length);
  return {
    ...Object.fromEntries(names.map((name, i) => [`ORANGEBOX_${name}_PORT`, String(ports[i])])),
    ORANGEBOX_STATE_DIR: `${directory}/state`,
    ORANGEBOX_PAYLOAD_DIR: `${directory}/payloads`,
  };
}

/**
 * Starts a collector with one configuration file, or with several that are merged in their order. `env` is added to the ports and
 * folders that it gets; `restart(env)` takes the same, without these.
 */
export async function startCollector(
  configFile: string | readonly string[],
  env: Environment = {},
): Promise<CollectorServer> {
  const directory = serverDirectory('otelcol');
  const own = await places(directory);
  const at = (name: string): string => `http://127.0.0.1:${own[`ORANGEBOX_${name}_PORT`]}`;
  const server = await startServer({
    name: 'otelcol',
    directory,
    command: binaryOf('otelcol'),
    args: configArguments(configFile),
    env: { ...own, ...env },
    url: at('METADATA'),
    readyUrl: at('HEALTH'),
  });
  return withExtras(server, {
    metadataUrl: at('METADATA'),
    payloadUrl: at('PAYLOAD'),
    metricsUrl: `${at('METRICS')}/metrics`,
    telemetryUrl: `${at('TELEMETRY')}/metrics`,
    restart: (
      (restart) => (changed?: Environment) =>
        restart(changed && { ...own, ...changed })
    )(server.restart),
  });
}

const configArguments = (files: string | readonly string[]): string[] =>
  [files].flat().flatMap((file) => ['--config', file]);

/** What the collector says of a configuration without running it: empty if all is well. */
export async function validateConfig(configFile: string | readonly string[], env: Environment = {}): Promise<string> {
  const args = ['validate', ...configArguments(configFile)];
  try {
    await promisify(execFile)(binaryOf('otelcol'), args, { env: cleanEnvironment(env) });
    return '';
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string };
    return `${stdout ?? ''}${stderr ?? ''}` || message;
  }
}
