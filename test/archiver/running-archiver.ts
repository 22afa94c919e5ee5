/** The built `orangebox archive` as a process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { CLI, cleanEnv } from '../cli/spawn.ts';

/** A line of its log. */
export type LogLine = Record<string, unknown> & { event: string };

/** An archiver that runs. */
export interface RunningArchiver {
  url: string;
  child: ChildProcess;
  lines: LogLine[];
  /** Resolves with the first line of this event, also one that came before. */
  said(event: string): Promise<LogLine>;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts one on a free port and waits until it listens. */
export async function runArchiver(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningArchiver> {
  const child = spawn(process.execPath, [CLI, 'archive', '--listen', '127.0.0.1:0', ...args], {
    env: cleanEnv(env),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lines: LogLine[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) lines.push(JSON.parse(line) as LogLine);
    for (const look of [...waiting]) look();
  });
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const said = (event: string): Promise<LogLine> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const line = lines.find((one) => one.event === event);
        if (line === undefined) return;
        waiting.delete(look);
        resolve(line);
      };
      waiting.add(look);
      void ended.then(() => reject(new Error(`it ended without a word on ${event}: ${JSON.stringify(lines)}${rest}`)));
      look();
    });
  const { url } = await said('listening');
  return { url: String(url), child, lines, said, ended };
}
