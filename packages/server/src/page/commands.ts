/** Commands to go on with, as they can be pasted into a shell. */
import type { Snapshot } from '@orangebox/schema';
import { html, type Html } from './html.ts';

/** How the command is typed, and the options that say where the recording is. */
export interface CommandWords {
  /** `orangebox` or `npx orangebox`. */
  command: string;
  /** For example `--store s3://bucket/base`; empty where the environment says it. Quoted for a shell already. */
  options: string;
}

/** The table of commands for a call. Trace and span id are all hex, so no recorded text stands in them. */
export function commandsOf(snapshot: Snapshot, words: CommandWords): Html {
  const ref = `${snapshot.trace.traceId}:${snapshot.trace.spanId}`;
  const typed = (name: string): string =>
    [words.command, name, ref, words.options].filter((word) => word !== '').join(' ');
  const list: [string, string][] = [[typed('show'), 'the conversation in the terminal']];
  if (snapshot.exchanges.at(-1)?.response !== undefined)
    list.push([typed('replay'), 'the recorded answer again through the SDK, offline']);
  if (snapshot.exchanges.length > 0) list.push([typed('resend'), 'the same request, live, and what differs']);
  list.push([typed('fetch'), 'the snapshot as a file']);
  return html`<h2>Next</h2>
<table class="commands">${list.map(([command, purpose]) => html`<tr><td><code>${command}</code></td><td class="dim">${purpose}</td></tr>`)}</table>`;
}
