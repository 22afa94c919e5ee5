/** The comparison of spans and objects as lines for a person. */
import { AUDIT_FAULTS, AUDIT_VERDICTS, type AuditFinding, type AuditReport, type AuditVerdict } from '@orangebox/store';
import type { Terminal } from '../terminal.ts';
import { escapeLine } from '../text/escape.ts';
import { formatDuration, formatTime, plural } from '../text/format.ts';
import { padEnd } from '../text/table.ts';

/** Findings listed per verdict on a terminal, and in a pipe. */
const LISTED = { terminal: 20, pipe: 1000 } as const;

/** What a verdict means and what to do; `{grace}` is the time of grace. */
const MEANING: { readonly [verdict in AuditVerdict]: readonly [meaning: string, advice: string] } = {
  lost: [
    'a span promises it, and nothing stands under its key',
    'the recorder may still have it: orangebox ls --dir DIR where the program ran; a guard drops bad keys silently, retention deletes old ones',
  ],
  corrupt: [
    'something stands there and does not verify',
    'damaged after it was written, or written by something else: look at the object; an archiver refuses what does not verify',
  ],
  incomplete: [
    'some of its parts are there',
    'the sender sends the rest when it runs again; what is older than its directory keeps is lost',
  ],
  mixed: [
    "an object carries another key's payload",
    'a collector batches payloads: take the batch processor and sending_queue.batch out of the payload pipeline (docs/pipeline.md)',
  ],
  invalid_key: [
    'a span whose snapshot key is none, or that of another call',
    'an attribute limit below 80 characters cuts keys (OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT), or somebody else wrote it',
  ],
  orphaned: [
    'an object whose span the trace backend does not have',
    'spans are lost on their way (look at the metadata pipeline), a tail sampler dropped them (--tail-sampled), or somebody put it there',
  ],
  foreign: ['an object among the snapshots that stands under no key', 'nothing of Orangebox reads it'],
  unsampled_or_orphaned: [
    'an object without a span, where a tail sampler may have dropped it',
    'nobody can tell which of them lost their spans',
  ],
  unsampled: ['an object whose span a head sampler dropped, as the snapshot itself says', ''],
  late: ['promised, and its span ended less than {grace} ago', 'look again later; --grace sets the time'],
  span_pending: ['an object without a span, of a call that ended less than {grace} ago', 'look again later'],
  unchecked: [
    'an object whose span could not be looked for: the trace backend cuts its answers',
    'compare shorter times: --since 15m, or --since 2h --until 1h',
  ],
};

/** Beside the report. */
export interface ComparisonWords {
  graceMs: number;
  /** Index objects that could not be read. */
  indexProblems: readonly string[];
}

/** Writes counts, then each verdict with what it means, its findings and what to do. */
export function writeComparison(terminal: Terminal, report: AuditReport, words: ComparisonWords): void {
  const c = terminal.colors;
  const time = (ms: number): string => formatTime(`${Math.floor(ms)}000000`);
  terminal.line(
    `${c.bold('spans')}  ${escapeLine(report.source)}  ${c.bold('objects')}  ${escapeLine(report.store)}  ${c.dim(`calls from ${time(report.sinceUnixMs)} until ${time(report.untilUnixMs)}`)}`,
  );
  const { promised, stored, objects } = report;
  const how = report.verified ? 'there and verified' : 'there (not opened: --quick)';
  terminal.line(
    `${promised > 0 ? c.green('✓') : ' '} ${plural(promised, 'key')} promised, ${stored} ${how} (${percent(stored, promised)})`,
  );
  terminal.line(`  ${plural(objects, 'object')} of this time in the store`);
  if (promised === 0 && objects === 0) {
    terminal.line(`${c.yellow('!')} nothing was compared: no span with a key and no object in this time`);
    terminal.line(
      `    ${c.cyan('is this the trace backend and the store that the programs use, and the right time?')}`,
    );
  }
  for (const verdict of AUDIT_VERDICTS) writeVerdict(terminal, report, verdict, words.graceMs);
  writeNotes(terminal, report, words);
}

function writeVerdict(terminal: Terminal, report: AuditReport, verdict: AuditVerdict, graceMs: number): void {
  const count = report.counts[verdict];
  if (count === 0) return;
  const c = terminal.colors;
  const isFault = AUDIT_FAULTS.has(verdict) || (verdict === 'unsampled_or_orphaned' && report.looksTailSampled);
  const mark = isFault ? c.red('✗') : c.yellow('!');
  const [meaning, advice] = MEANING[verdict];
  const share = percent(count, isOfPromises(verdict) ? report.promised : report.objects);
  const title = verdict.replaceAll('_', ' ');
  terminal.line();
  terminal.line(
    `${mark} ${c.bold(title)}  ${count} (${share})  ${c.dim(meaning.replace('{grace}', formatDuration(graceMs)))}`,
  );
  const findings = report.findings.filter((finding) => finding.verdict === verdict);
  const shown = findings.slice(0, terminal.interactive ? LISTED.terminal : LISTED.pipe);
  const width = Math.max(...shown.map((finding) => refOf(finding).length), 0);
  for (const finding of shown) {
    terminal.line(
      `    ${c.yellow(padEnd(refOf(finding), width))}  ${escapeLine(finding.key)}  ${c.dim(escapeLine(finding.reason))}`,
    );
  }
  if (count > shown.length) terminal.line(c.dim(`    … and ${count - shown.length} more (--json lists them)`));
  if (advice !== '') terminal.line(`    ${c.cyan(advice)}`);
}

function writeNotes(terminal: Terminal, report: AuditReport, { indexProblems }: ComparisonWords): void {
  const c = terminal.colors;
  const note = (text: string, advice: string): void => {
    terminal.line();
    terminal.line(`${c.yellow('!')} ${escapeLine(text)}`);
    terminal.line(`    ${c.cyan(escapeLine(advice))}`);
  };
  if (report.looksTailSampled) {
    note(
      'so many objects have no span that a tail sampler is the likelier reason',
      'say so if there is one: --tail-sampled; without one, the metadata pipeline loses spans',
    );
  }
  if (report.truncated) {
    note(
      'the trace backend cut its answers even for a second: some spans are missing in this comparison',
      'compare shorter times, or raise the limit of the backend',
    );
  }
  if (report.notIndexed.count > 0) {
    note(
      `${plural(report.notIndexed.count, 'stored snapshot')} stand in no index object, so lists of the bucket lack them`,
      'make the index anew: orangebox archive --reindex --since TIME',
    );
  }
  const [problem] = indexProblems;
  if (problem !== undefined) {
    note(
      `${plural(indexProblems.length, 'index object')} cannot be read, first ${problem}`,
      'make the index anew: orangebox archive --reindex --since TIME',
    );
  }
  if (report.quarantine.length > 0) {
    const list = report.quarantine.map(({ reason, count }) => `${reason.replaceAll('_', ' ')} ${count}×`).join(', ');
    note(
      `the archiver put payloads aside that did not verify: ${list}`,
      'quarantine/v1/ in the store has them with their reasons (docs/archiver.md)',
    );
  }
  if (report.canaries > 0) {
    terminal.line();
    terminal.line(c.dim(`${plural(report.canaries, 'canary', 'canaries')} left out`));
  }
}

/** Verdicts on promised keys; the others are on objects. */
function isOfPromises(verdict: AuditVerdict): boolean {
  return ['lost', 'late', 'corrupt', 'incomplete', 'invalid_key'].includes(verdict);
}

function refOf(finding: AuditFinding): string {
  return finding.spanId?.slice(0, 8) ?? '';
}

function percent(count: number, all: number): string {
  return all === 0 ? '–' : `${((count / all) * 100).toFixed(1)} %`;
}
