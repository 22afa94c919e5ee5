/** What was observed of a replay, put together for its receipt. */
import type { ReceiptFacts } from '@orangebox/replay';
import {
  commandOf,
  type FoundRun,
  type ProcessReport,
  type RecordedRun,
  withoutServedTools,
} from '@orangebox/replay/process';
import { outputDifferences } from './output-differences.ts';
import type { ReplayPlace } from './replay-place.ts';

/** What a replay left behind. */
export interface ReplayOutcome {
  found: FoundRun;
  command: readonly string[];
  /** Of each thread that said something, main thread first. */
  reports: readonly ProcessReport[];
  /** Of each recorded thread. */
  recorded: readonly RecordedRun[];
  /** Of the recording's files. */
  digest: string;
  /** Outside values were others: what it prints may be another. */
  isUnpinned: boolean;
  /** Runs of its child processes. */
  childRuns: readonly FoundRun[];
  /** Where it ran. */
  place: ReplayPlace & { isKept: boolean };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** The facts. A difference of output counts only where the program ran to its end. */
export function receiptFacts(replayed: ReplayOutcome): ReceiptFacts {
  const { found, command, reports, recorded, digest, isUnpinned, childRuns, place } = replayed;
  // A thread may have said how it went, and the program have died before it could.
  const main = reports.find(({ threadId }) => threadId === 0);
  const { start } = found;
  const divergence = reports.find((report) => report.divergence)?.divergence;
  const count = (of: (report: ProcessReport) => number): number => sum(reports.map(of));
  const compared = (name: string, was: string | undefined, is: string | undefined) => ({
    name,
    ...(was === undefined ? {} : { recorded: was }),
    ...(is === undefined ? {} : { live: is }),
  });
  const end = recorded.find((run) => run.start.threadId === 0)?.end;
  const outcome =
    main?.end && end
      ? [
          compared('exit code', String(end.exitCode), String(main.end.exitCode)),
          ...(isUnpinned
            ? []
            : [
                compared('standard output', end.stdout.sha256, main.end.stdout.sha256),
                compared('standard error', end.stderr.sha256, main.end.stderr.sha256),
                ...place.differences().map(({ name, ...file }) => ({ name: `file ${name}`, ...file })),
              ]),
        ]
      : [];
  return {
    run: {
      id: found.runId,
      digest,
      ...(recorded.some((run) => run.isDamaged) ? { isDamaged: true } : {}),
      ...(end?.signal === undefined ? {} : { signal: end.signal }),
    },
    command,
    code: {
      entry: compared('entry', start.argv[0], main?.live?.argv[0] ?? start.argv[0]),
      changedFiles: place.changed.filter((name) => name !== start.argv[0]),
      digest: compared('digest', start.entryDigest, main?.live ? main.live.entryDigest : start.entryDigest),
    },
    versions: [compared('node', start.node, main?.live?.node ?? start.node)],
    recordedRequests: sum(recorded.map((run) => withoutServedTools(run).exchanges.length)),
    rungs: {
      exact: count(({ rungs }) => rungs.exact),
      canonical: count(({ rungs }) => rungs.canonical),
      unified: count(({ rungs }) => rungs.unified),
      rule: count(({ rungs }) => rungs.rule),
    },
    rules: main?.rules ?? [],
    extra: count(({ extra }) => extra),
    // What a stopped program did not come to is no finding of its own.
    missing: divergence ? 0 : count(({ missing }) => missing),
    refused: reports.flatMap(({ refused }) => refused),
    liveConnections: count(({ liveConnections }) => liveConnections),
    processes: {
      served: count(({ processesServed }) => processesServed),
      started: count(({ liveProcesses }) => liveProcesses),
    },
    tools: {
      served: count(({ toolsServed }) => toolsServed),
      changed: reports.flatMap(({ toolsChanged }) => toolsChanged),
    },
    notReplayable: recorded.flatMap((run) => run.notReplayable.map(({ what, count: n }) => ({ what, count: n }))),
    outcome,
    ...(main?.end && end && !isUnpinned ? { outputDifferences: outputDifferences(end, main.end) } : {}),
    files: {
      ...place.facts,
      notes: [
        ...place.facts.notes,
        ...reports.flatMap(({ filesNotApplied }) => filesNotApplied.map((path) => `not changed as on record: ${path}`)),
        ...(place.facts.isCopy && reports.some(({ lacksModule }) => lacksModule === true)
          ? [
              'a module was not found: of the directories above, the copy has package.json and node_modules only; --in-place runs the program where it is',
            ]
          : []),
        ...(place.isKept ? [`the copy of the working directory is kept: ${place.cwd}`] : []),
      ],
    },
    ...(childRuns.length > 0
      ? { childRuns: childRuns.map((run) => ({ id: run.runId, command: commandOf(run) })) }
      : {}),
    ...(divergence ? { divergence } : {}),
    isInstrumented: main !== undefined,
  };
}
