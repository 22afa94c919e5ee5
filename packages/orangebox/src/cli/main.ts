/** The `orangebox` command: options and which file does what. Each command is loaded only when it is called. */
import { Command, CommanderError } from 'commander';
import type { CommandContext, PlaceOptions } from './context.ts';
import { type CliEnv, readEnv } from './env.ts';
import { EXIT } from './exit-codes.ts';
import { dirOption, filters, placesOf, reading, referring, wait } from './option-groups.ts';
import { reportError } from './report-error.ts';
import { processTerminal, type Terminal, withPlaces } from './terminal.ts';
import { refuseStray, unknownCommand, usageError } from './usage-error.ts';
import { VERSION } from './version.ts';

/** Runs the command line and gives the exit code. Never throws. */
export async function main(argv: readonly string[]): Promise<number> {
  const env = readEnv();
  const terminal = processTerminal(env);
  const state = { code: EXIT.ok as number };
  const program = buildProgram(env, terminal, (code) => {
    state.code = code;
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return state.code;
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok;
      return reportError(usageError(error, argv, program), terminal, false);
    }
    return reportError(error, terminal, env.debug);
  }
}

type Run = (context: CommandContext) => Promise<number> | number;

const REF = 'short ref, span id, trace id, session id, snapshot key, s3:// or trace UI address, file, or "last"';

function buildProgram(env: CliEnv, terminal: Terminal, done: (code: number) => void): Command {
  const program = new Command('orangebox');
  const start = async (command: Command, run: Run): Promise<void> => {
    refuseStray(command, program);
    const options: { dir?: string } & PlaceOptions = { ...command.optsWithGlobals(), ...command.opts() };
    const places = placesOf(options);
    const named = withPlaces(terminal, env, options.dir, places);
    done(await run({ env, terminal: named, cwd: process.cwd(), dir: options.dir, places, nowMs: Date.now() }));
  };
  const add = (name: string, description: string): Command =>
    program.command(name).description(description).addOption(dirOption()).allowExcessArguments(false);

  reading(program)
    .description('Flight recorder for AI agents on Node.js. Alone it shows what is recorded and what to do next.')
    .version(VERSION, '-V, --version')
    .addOption(dirOption())
    .option('--json', 'as JSON')
    .enablePositionalOptions()
    .helpCommand('help [command]', 'help for a command')
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .allowExcessArguments()
    .addHelpText(
      'after',
      '\nExit codes: 0 ok, 1 difference or finding, 2 usage, 3 not found, 4 damaged, 5 unreadable, 6 refused, 7 network.',
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const [word] = command.args;
      if (word !== undefined) throw unknownCommand(word, program);
      const { status } = await import('./commands/status.ts');
      await start(command, (context) => status(context, options));
    });

  reading(
    filters(add('ls', 'list calls, newest first'))
      .option('-n, --number <n>', 'how many at most; 0 for all (default: 30)')
      .option('-r, --reverse', 'newest last')
      .option('--runs', 'runs that can be replayed, instead of calls')
      .option('--table', 'a table also in a pipe')
      .option('--json', 'as JSON')
      .action(async (options, command: Command) => {
        const { ls } = await import('./commands/ls.ts');
        await start(command, (context) => ls(context, options));
      }),
  );

  wait(
    referring(
      add('show', 'show a call as a conversation; of a session or trace all calls in order')
        .argument('<ref>', REF)
        .option('-a, --all', 'the whole conversation, not only what is new since the call before')
        .option('--raw', "the response body's bytes as received (on a terminal decoded and escaped)")
        .option('--request', "with --raw: the request body's bytes")
        .option('--json', 'the snapshot as JSON, with its views')
        .option('--http', 'the HTTP messages of every attempt')
        .option('--curl', 'the request as a curl command')
        .action(async (ref: string, options, command: Command) => {
          const { show } = await import('./commands/show.ts');
          await start(command, (context) => show(context, ref, options));
        }),
    ),
  );

  wait(
    referring(
      add('fetch', 'write the snapshot to a file')
        .argument('<ref>', REF)
        .option('-o, --output <file>', 'file or directory, - for standard output (default: REF.snapshot.json)')
        .option('-f, --force', 'overwrite a file that is there')
        .action(async (ref: string, options, command: Command) => {
          const { fetchSnapshot } = await import('./commands/fetch.ts');
          await start(command, (context) => fetchSnapshot(context, ref, options));
        }),
    ),
  );

  wait(
    referring(
      add(
        'replay',
        'the recorded answer through the SDK found from here, offline; or a whole run: replay RUN -- COMMAND',
      )
        .argument('<ref>', `${REF}; or a replayable run`)
        .argument('[command...]', 'behind --: the program of the run (default: the recorded one, after asking)')
        .option('--serve', 'a loopback endpoint that gives any client the recorded bytes in the recorded chunks')
        .option('--port <port>', 'with --serve: the port (default: a free one)')
        .option('--via <client>', 'auto, sdk or fetch', 'auto')
        .option('--rules <file>', 'of a run: differences that say nothing, with reasons')
        .option('--receipt <file>', 'of a run: write the receipt there, as JSON')
        .option('--in-place', 'of a run: in the working directory itself instead of a copy; it is changed')
        .option('--keep', 'of a run: leave the copy of the working directory where it is')
        .option('--trust-files', 'of a run: use contents of files from a recording that was not made here')
        .option('--timing <speed>', 'of a run: virtual, recorded, or so many times faster: x10', 'virtual')
        .option(
          '--unpinned',
          'of a run: with another clock, other random values and ids; requests have to fit all the same',
        )
        .option('-y, --yes', 'of a run: do not ask before the recorded command is run')
        .option('--json', 'as JSON')
        .action(async (ref: string, words: string[], options, command: Command) => {
          if (words.length > 0 || ref.startsWith('run-')) {
            const { replayRun } = await import('./commands/replay-run.ts');
            await start(command, (context) => replayRun(context, ref, words, options));
            return;
          }
          const { replay } = await import('./commands/replay.ts');
          await start(command, (context) => replay(context, ref, options));
        }),
    ),
  );

  referring(
    add('resend', 'send the same request again, live, and compare; asks before it spends')
      .argument('<ref>', REF)
      .option('-n, --number <n>', 'how often (default: 1)')
      .option('--base-url <url>', "send it there instead of to the provider's own host")
      .option('--allow-effects', 'also a request that changes state on the server')
      .option('-y, --yes', 'do not ask')
      .option('--no-keep', 'do not keep the new calls')
      .option('--json', 'as JSON')
      .action(async (ref: string, options, command: Command) => {
        const { resendCommand } = await import('./commands/resend.ts');
        await start(command, (context) => resendCommand(context, ref, options));
      }),
  );

  referring(
    add('diff', 'compare two calls: tools and arguments first, then structure, then text')
      .argument('<a>', REF)
      .argument('<b>', 'the other call')
      .option('--json', 'as JSON')
      .action(async (a: string, b: string, options, command: Command) => {
        const { diff } = await import('./commands/diff.ts');
        await start(command, (context) => diff(context, a, b, options));
      }),
  );

  reading(
    filters(add('tail', 'calls as they arrive; Ctrl-C ends it'))
      .option('-n, --number <n>', 'how many earlier ones to begin with (default: 10)')
      .option('--running', 'also when a call begins')
      .option('--json', 'as JSON, one line a call')
      .action(async (options, command: Command) => {
        const { tail } = await import('./commands/tail.ts');
        await start(command, (context) => tail(context, options));
      }),
  );

  filters(add('copy', 'copy recordings to another store; what is there is left alone, so that it can be run again'))
    .argument('<src>', 's3://bucket/prefix, a directory, or context:NAME')
    .argument('<dst>', 'where to; a directory that is not there is made')
    .option('--context <name>', 'S3 settings of this context (default: ORANGEBOX_CONTEXT)')
    .option('--json', 'the summary as JSON')
    .action(async (src: string, dst: string, options, command: Command) => {
      const { copy } = await import('./commands/copy.ts');
      await start(command, (context) => copy(context, src, dst, options));
    });

  add('recover', 'complete and ship what processes that have ended left behind')
    .argument('[directory]', 'recordings (default: --dir, ORANGEBOX_DIR, or the nearest .orangebox upward)')
    .option('--endpoint <url>', 'where payloads go (default: ORANGEBOX_ENDPOINT)')
    .option('--retry-quarantined', 'send again what the endpoint refused for good')
    .option('--timeout <time>', 'how long it may take (default: 60s)')
    .option('--json', 'the summary as JSON')
    .action(async (directory: string | undefined, options, command: Command) => {
      const { recover } = await import('./commands/recover.ts');
      await start(command, (context) => recover(context, directory, options));
    });

  add('ship', 'ship recordings beside a service, on a shared volume; until it is told to stop')
    .argument('[directory]', 'recordings (default: --dir, ORANGEBOX_DIR, or the nearest .orangebox upward)')
    .option('--endpoint <url>', 'where payloads go (default: ORANGEBOX_ENDPOINT)')
    .option('--once', 'ship what is there, and end')
    .option('--json', 'as JSON, one line per change of state')
    .action(async (directory: string | undefined, options, command: Command) => {
      const { ship } = await import('./commands/ship.ts');
      await start(command, (context) => ship(context, directory, options));
    });

  add('bucket', 'set up a bucket for recordings').addCommand(
    new Command('init')
      .description('make a bucket, with lifecycle, encryption and the policies of who writes and who reads')
      .argument('[place]', 's3://bucket/prefix (default: that of --context, or ORANGEBOX_STORE)')
      .option('--context <name>', 'S3 settings of this context (default: ORANGEBOX_CONTEXT)')
      .option('--retention-days <days>', 'delete recordings after so many days (default: never)')
      .option('--quarantine-days <days>', 'delete what failed verification after so many days (default: 30)')
      .option('--tier <class:days>', 'move recordings to a storage class after so many days: STANDARD_IA:30')
      .option('--kms-key <id>', "encrypt with this key instead of the store's own")
      .option('--writer <arn...>', 'who may write, for the policy of the bucket')
      .option('--reader <arn...>', 'who may read')
      .option('--print-only', 'say what it would do and print the policies; change nothing')
      .option('-y, --yes', 'do not ask')
      .option('--json', 'as JSON')
      .allowExcessArguments(false)
      .action(async (place: string | undefined, options, command: Command) => {
        const { bucketInit } = await import('./commands/bucket.ts');
        await start(command, (context) => bucketInit(context, place, options));
      }),
  );

  add('context', 'the named places of the config file, and which are read now')
    .option('--json', 'as JSON')
    .action(async (options, command: Command) => {
      const { contexts } = await import('./commands/context.ts');
      await start(command, (context) => contexts(context, options));
    });

  reading(
    add(
      'doctor',
      'check this machine; with --since spans against objects; with --canary the whole way; with --determinism a recorded run',
    )
      .argument(
        '[command...]',
        'with --determinism, behind --: the program of the run (default: the recorded one, after asking)',
      )
      .option('--since <time>', 'compare the calls since then: what spans promise against what the store holds')
      .option('--until <time>', 'with --since: the calls before this time')
      .option('--grace <time>', 'with --since: what ended so recently may still come (default: 5m)')
      .option(
        '--tail-sampled',
        'with --since: traces are sampled after the fact, objects without a span are no finding',
      )
      .option('--quick', 'with --since: only look whether objects are there, open none')
      .option('--canary', 'send a marked call through; fails if a trace backend shows it or the store lacks it')
      .option('--wait <time>', 'with --canary: how long it may take (default: 60s)')
      .option('--keep', 'with --canary: leave it in the store')
      .option('--determinism <run>', 'replay the run with other values, and list the sources that reach its requests')
      .option('--timeout <time>', 'with --determinism: end a replay that takes longer (default: 10m)')
      .option('-y, --yes', 'with --determinism: do not ask before the recorded command is run')
      .option('--json', 'as JSON')
      .action(async (words: string[], options, command: Command) => {
        const { doctor } = await import('./commands/doctor.ts');
        await start(command, (context) => doctor(context, options, words));
      }),
  );

  reading(
    add('open', 'serve calls as pages on loopback, and open the one that is named in the browser')
      .argument('[ref]', `${REF}; without it a list of the newest`)
      .option('--port <port>', 'the port (default: 4331, where links of trace UIs point; 0 takes a free one)')
      .option('--no-browser', 'do not open the browser')
      .action(async (ref: string | undefined, options, command: Command) => {
        const { open } = await import('./commands/open.ts');
        await start(command, (context) => open(context, ref, options));
      }),
  );

  add('purge', 'delete recordings for good')
    .option('--session <id>', 'of a session')
    .option('--user <id>', 'of a user')
    .option('--before <time>', 'from before a time: 30d, 2026-03-01')
    .option('-y, --yes', 'do not ask')
    .option('--json', 'as JSON')
    .action(async (options, command: Command) => {
      const { purge } = await import('./commands/purge.ts');
      await start(command, (context) => purge(context, options));
    });

  add('archive', 'take payloads over OTLP/HTTP and write them to a store')
    .option('--store <place>', 's3://bucket/prefix or a directory (default: ORANGEBOX_STORE)')
    .option('--listen <address>', 'HOST:PORT (default: 127.0.0.1:4330)')
    .option('--token-file <file>', 'bearer tokens, one a line, beside those of ORANGEBOX_ARCHIVE_TOKEN')
    .option('--tls-cert <file>', 'certificate, PEM')
    .option('--tls-key <file>', 'its key, PEM')
    .option('--tls-client-ca <file>', 'demand client certificates signed by these')
    .option('--metrics-public', 'answer /metrics without a token')
    .option('--memory-bytes <size>', 'bound of all that is worked on at once (default: 256MiB)')
    .option('--max-request-bytes <size>', 'bound of one request (default: 64MiB)')
    .option('--max-connections <n>', 'connections at once (default: 1024)')
    .option('--writes <n>', 'writes to the store at once (default: 16)')
    .option('--no-index', 'write no index objects')
    .option('--reindex', 'make the index of a span of time anew from the snapshots, and end')
    .option('--since <time>', 'with --reindex: from this time on: 2h, 3d, 2026-03-01')
    .option('--until <time>', 'with --reindex: before this time (default: now)')
    .option('--json', 'with --reindex: as JSON')
    .action(async (options, command: Command) => {
      const { archive } = await import('./commands/archive.ts');
      await start(command, (context) => archive(context, options));
    });

  add('level', 'show or set what running programs record: full, metadata, errors or off')
    .argument('[level]', 'the level for calls that begin from now on')
    .option('--clear', "take it back: each program's own ORANGEBOX_LEVEL decides again")
    .option('--json', 'as JSON')
    .action(async (word: string | undefined, options, command: Command) => {
      const { level } = await import('./commands/level.ts');
      await start(command, (context) => level(context, word, options));
    });

  add('path', 'print the absolute path of orangebox/register').action(async (_options, command: Command) => {
    const { path } = await import('./commands/path.ts');
    await start(command, path);
  });

  add('run', 'run a command with recording on: orangebox run -- node app.js')
    .argument('<command...>', 'the command and its arguments')
    .option('--replayable', 'record what is needed to run the whole program again')
    .passThroughOptions()
    .action(async (words: string[], options, command: Command) => {
      const { run } = await import('./commands/run.ts');
      await start(command, (context) => run(context, words, options));
    });

  add('check', 'replay every run recorded below a directory, several at a time, one verdict each: for CI')
    .argument('<directory>', 'a directory of recordings, or one that holds several of them')
    .argument('[command...]', 'behind --: the program of all these runs (default: the recorded ones, after asking)')
    .option('--jobs <n>', 'runs at a time (default: as many as there are processors, at most 4)')
    .option('--junit <file>', 'write the verdicts there, as JUnit XML')
    .option('--rules <file>', 'differences that say nothing, with reasons')
    .option('--timeout <time>', 'end a program that takes longer', '10m')
    .option('--in-place', 'in the working directory itself instead of copies; it is changed')
    .option('--trust-files', 'use contents of files from recordings that were not made here')
    .option('-y, --yes', 'do not ask before recorded commands are run')
    .option('--json', 'the receipts as JSON, a line each')
    .action(async (directory: string, words: string[], options, command: Command) => {
      const { check } = await import('./commands/check.ts');
      await start(command, (context) => check(context, directory, words, options));
    });

  add('ps', 'list the processes that are being recorded, and their open calls')
    .option('--json', 'as JSON')
    .action(async (options, command: Command) => {
      const { ps } = await import('./commands/ps.ts');
      await start(command, (context) => ps(context, options));
    });

  // It records to a directory of its own.
  program
    .command('audit')
    .description('run a command with planted marks and report whatever of Orangebox is where it should not be')
    .allowExcessArguments(false)
    .argument('<command...>', 'the command and its arguments: orangebox audit -- node app.js')
    .option(
      '--live',
      "the program keeps its own provider and key (default: a local one answers the OpenAI SDK's calls)",
    )
    .option('--allow-failure', "the command's own failure is no finding")
    .option('--keep', 'leave the recordings and everything else of the audit')
    .option('--json', "as JSON; the command's own output then goes to standard error")
    .passThroughOptions()
    .action(async (words: string[], options, command: Command) => {
      const { audit } = await import('./commands/audit.ts');
      await start(command, (context) => audit(context, words, options));
    });

  return program;
}
