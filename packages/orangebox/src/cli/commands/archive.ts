/** `orangebox archive`: takes payloads over OTLP/HTTP and writes them to a store, until it is told to stop. */
import { type ArchiveFlags, readArchiveConfig, startArchiver } from '@orangebox/server';
import { openBucket } from '@orangebox/store';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { usage } from '../parse-options.ts';
import { stopSignal } from '../stop-signal.ts';
import { VERSION } from '../version.ts';
import type { ReindexOptions } from './reindex.ts';

/** Options of `archive`. */
export interface ArchiveOptions extends ArchiveFlags, Omit<ReindexOptions, 'store'> {
  reindex?: boolean;
}

/** Runs the archiver. SIGTERM and SIGINT let it finish what is under way; the second one ends it at once. */
export async function archive(context: CommandContext, options: ArchiveOptions): Promise<number> {
  if (options.reindex === true) {
    const { store, ...rest } = options;
    const { reindex } = await import('./reindex.ts');
    return reindex(context, { ...rest, ...(store === undefined ? {} : { store }) });
  }
  const only = (['since', 'until', 'json'] as const).find((name) => options[name] !== undefined);
  if (only !== undefined) throw usage(`--${only} goes with --reindex`, 'orangebox archive --reindex --since 2h');
  const { env, cwd } = context;
  const config = readArchiveConfig(env.all, options);
  const bucket = openBucket(config.store, { env: env.all, cwd });
  const { host, port, tokens, tls, metricsPublic, limits } = config;
  const archiver = await startArchiver({
    bucket,
    host,
    port,
    tokens,
    metricsPublic,
    limits,
    index: config.writesIndex,
    version: VERSION,
    ...(tls === undefined ? {} : { tls }),
  });
  await stopSignal();
  await archiver.stop();
  await bucket.close();
  return EXIT.ok;
}
