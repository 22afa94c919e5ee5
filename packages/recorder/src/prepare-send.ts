/** The way into `send-once.ts` from outside: it needs protobuf and HTTP, which the core must not load with itself. */
import type { Snapshot } from '@orangebox/schema';
import type { RecorderConfig } from './config.ts';
import type { PreparedSend } from './send-once.ts';

/**
 * Prepares the span and the payload of a snapshot under a configuration of mode `split` or `inline`, to be sent as the
 * recorder sends them. The exporter reads the standard `OTEL_*` variables of the process itself.
 */
export async function prepareSend(config: RecorderConfig, snapshot: Snapshot): Promise<PreparedSend> {
  // By the shipper's file: what two files share would be loaded with the core.
  const sender = await import('./shipping/payload-shipper.ts');
  return sender.prepareSend(config, snapshot);
}
