/** The whole way, with a configuration file as it is shipped: program > collector > archiver > store, and Jaeger. */
import { join } from 'node:path';
import { inRepository } from '../../helpers/repository.ts';
import {
  type CollectorServer,
  type Environment,
  type JaegerServer,
  type RunningServer,
  startArchiver,
  startCollector,
  startJaeger,
  startPrometheus,
  startWeed,
  type WeedServer,
} from './servers/index.ts';

/** The shipped configurations that the lane can run. */
export type ConfigName = 'collector' | 'one-port' | 'queue' | 'inline' | 'file';

/** Options of `pipeline`. */
export interface PipelineOptions {
  /** Files laid over the configuration, by name in `collector-config/`. */
  overlays?: readonly string[];
  /** More variables of the collector. */
  collectorEnv?: Environment;
  /** More variables of the archiver. */
  archiverEnv?: Environment;
  /** Arguments of `orangebox archive`. */
  archiverArgs?: readonly string[];
  /** The token that the archiver demands and the collector sends. */
  token?: string;
  /** Starts Prometheus too, scraping the collector (`spans`, `collector`) and the archiver (`archiver`). */
  prometheus?: boolean;
}

/** A pipeline that runs. */
export interface Pipeline {
  readonly collector: CollectorServer;
  readonly jaeger: JaegerServer;
  /** Absent where the collector writes files by itself. */
  readonly archiver: RunningServer | undefined;
  readonly weed: WeedServer | undefined;
  readonly prometheus: RunningServer | undefined;
  /** Where payloads end up, as `ORANGEBOX_STORE` has it. */
  readonly store: string;
  /** What a program under the preload needs, beside its own settings and `ORANGEBOX_DIR`. */
  readonly programEnv: Readonly<Record<string, string>>;
  /** What the `orangebox` command needs, from any directory. */
  readonly cliEnv: Readonly<Record<string, string>>;
  /** Stops all of it. */
  stop(): Promise<void>;
}

const BUCKET = 'orangebox';

/** Absolute path of a file in `collector-config/`. */
export const shippedConfig = (name: string): string => inRepository(`collector-config/${name}.yaml`);

/** Starts the servers that a shipped configuration speaks to, and the collector with it. */
export async function pipeline(config: ConfigName, options: PipelineOptions = {}): Promise<Pipeline> {
  const started: RunningServer[] = [];
  const keep = async <T extends RunningServer>(starting: Promise<T>): Promise<T> => {
    const server = await starting;
    started.push(server);
    return server;
  };
  const stop = async (): Promise<void> => void (await Promise.all(started.map((server) => server.stop())));
  try {
    const withArchiver = config !== 'file';
    const [jaeger, weed] = await Promise.all([keep(startJaeger()), withArchiver ? keep(startWeed()) : undefined]);
    if (weed) await createBucket(weed);
    const token = options.token === undefined ? {} : { ORANGEBOX_ARCHIVE_TOKEN: options.token };
    const bucketEnv = weed && { ORANGEBOX_STORE: `s3://${BUCKET}/snapshots`, ...weed.clientEnv };
    const archiver =
      bucketEnv &&
      (await keep(startArchiver({ ...bucketEnv, ...token, ...options.archiverEnv }, options.archiverArgs ?? [])));
    const collector = await keep(
      startCollector([config, ...(options.overlays ?? [])].map(shippedConfig), {
        ORANGEBOX_JAEGER_URL: jaeger.otlpUrl,
        ...(archiver ? { ORANGEBOX_ARCHIVER_URL: archiver.url } : {}),
        ...token,
        ...options.collectorEnv,
      }),
    );
    const storeEnv = bucketEnv ?? { ORANGEBOX_STORE: join(collector.directory, 'payloads') };
    const prometheus = options.prometheus ? await keep(startPrometheus(scrapeTargets(collector, archiver))) : undefined;
    return {
      collector,
      jaeger,
      archiver,
      weed,
      prometheus,
      store: storeEnv.ORANGEBOX_STORE,
      programEnv: programEnvironment(config, collector),
      cliEnv: { ...storeEnv, ORANGEBOX_SOURCE: jaeger.url },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const scrapeTargets = (collector: CollectorServer, archiver?: RunningServer): Record<string, string> => ({
  spans: collector.metricsUrl,
  collector: collector.telemetryUrl,
  ...(archiver ? { archiver: `${archiver.url}/metrics` } : {}),
});

function programEnvironment(config: ConfigName, collector: CollectorServer): Record<string, string> {
  const metadata = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.metadataUrl };
  if (config === 'inline') return { ...metadata, ORANGEBOX_TRANSPORT: 'inline' };
  return { ...metadata, ORANGEBOX_ENDPOINT: config === 'one-port' ? collector.metadataUrl : collector.payloadUrl };
}

/** Makes the bucket; a server without credentials takes an unsigned request. */
async function createBucket(weed: WeedServer): Promise<void> {
  const response = await fetch(`${weed.url}/${BUCKET}`, { method: 'PUT' });
  if (!response.ok) throw new Error(`the bucket could not be made: ${response.status} ${await response.text()}`);
}
