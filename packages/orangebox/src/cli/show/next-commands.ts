/** The commands that make sense next, at the foot of what was shown. Only on a terminal. */
import type { Terminal } from '../terminal.ts';
import { padEnd } from '../text/table.ts';
import type { ShownCall } from './shown-call.ts';

/** A command and what it is for. */
export type NextCommand = readonly [command: string, purpose: string];

/** Writes the commands in two columns. */
export function writeNext(terminal: Terminal, commands: readonly NextCommand[]): void {
  if (commands.length === 0) return;
  const c = terminal.colors;
  const typed = commands.map(([command, purpose]) => [asTyped(terminal, command), purpose] as const);
  const width = Math.max(...typed.map(([command]) => command.length));
  terminal.line();
  for (const [command, purpose] of typed) {
    terminal.line(`  ${c.cyan(padEnd(command, width))}  ${c.dim(purpose)}`);
  }
}

/** Commands that take the options that say where to read from. */
const READING = /^orangebox (?:diff|doctor|fetch|ls|open|replay|resend|show|tail)\b/;

/** A command as it can be typed where this one was called. */
export function asTyped(terminal: Terminal, command: string): string {
  const { placeWords } = terminal;
  const reads = placeWords !== undefined && READING.test(command);
  return `${command.replace(/^orangebox/, terminal.commandName)}${reads ? ` ${placeWords}` : ''}`;
}

/** After one call; `ref` is what names it where the next command is typed. */
export function nextAfterCall(call: ShownCall, ref: string = call.ref): NextCommand[] {
  const { snapshot } = call;
  if (snapshot.kind === 'tool') {
    const asked = snapshot.tool?.askedBy;
    return asked === undefined
      ? []
      : [[`orangebox show ${asked.replace(/[^0-9a-f]/g, '').slice(0, 8)}`, 'the call that asked for it']];
  }
  if (snapshot.kind !== 'llm') return [[`orangebox show ${ref} --curl`, 'the request as a command']];
  const commands: NextCommand[] = [];
  if (snapshot.exchanges.at(-1)?.response !== undefined)
    commands.push([`orangebox replay ${ref}`, 'the recorded answer again, offline']);
  commands.push([`orangebox resend ${ref}`, 'the same request, live']);
  const hasMore = (snapshot.session?.seq ?? 0) > 0 || (snapshot.nextMessages ?? []).length > 0;
  if (snapshot.session !== undefined && hasMore) {
    commands.push([`orangebox show ${quoteId(snapshot.session.id)}`, 'the whole session']);
  } else commands.push([`orangebox show ${ref} --http`, 'headers and bodies']);
  return commands;
}

/** After a session or trace. */
export function nextAfterRun(last: ShownCall | undefined): NextCommand[] {
  return last === undefined ? [] : [[`orangebox show ${last.ref} --all`, 'the last call with its whole conversation']];
}

/** An id as one word for a shell; a declared id may hold anything. */
export function quoteId(id: string): string {
  return /^[A-Za-z0-9_.:@/-]+$/.test(id) && !id.startsWith('-') ? id : `'${printable(id).replaceAll("'", `'\\''`)}'`;
}

function printable(id: string): string {
  return id.replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '?');
}
