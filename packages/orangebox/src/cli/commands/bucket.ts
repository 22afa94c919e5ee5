/** `orangebox bucket init`: a bucket with lifecycle, encryption and the policies of who writes and who reads. */
import { type BucketInitItem, type BucketInitOptions, type BucketInitReport, initBucket } from '@orangebox/store';
import { confirm } from '../ask.ts';
import type { CommandContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { parseCount, usage } from '../parse-options.ts';
import { findPlaces } from '../places.ts';
import { withProgress } from '../progress.ts';
import { escapeLine, safeJson } from '../text/escape.ts';
import { policyLines } from '../text/policy-lines.ts';
import { padEnd } from '../text/table.ts';

/** Options of `bucket init`. */
export interface BucketOptions {
  retentionDays?: string;
  quarantineDays?: string;
  tier?: string;
  kmsKey?: string;
  writer?: string[];
  reader?: string[];
  printOnly?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** Sets a bucket up, or says with `--print-only` what that would do. Asks before it changes rules that are there. */
export async function bucketInit(
  context: CommandContext,
  place: string | undefined,
  options: BucketOptions,
): Promise<number> {
  const { terminal } = context;
  const asked = wishesOf(options);
  const places = await findPlaces(context);
  const url = place ?? places.store?.url;
  if (url === undefined) throw usage('bucket init needs a bucket', 'orangebox bucket init s3://bucket/prefix');
  const wishes: BucketInitOptions = { ...asked, env: places.storeEnv, cwd: context.cwd };
  const plan = await withProgress(
    terminal,
    () => 'looking at the bucket',
    initBucket(url, { ...wishes, dryRun: true }),
  );
  if (options.printOnly === true) {
    write(context, plan, options);
    return EXIT.ok;
  }
  const changes = changesOf(plan);
  if (changes.length > 0 && options.yes !== true) {
    for (const item of changes) terminal.note(`${itemName(item)}: ${escapeLine(item.detail)}`);
    const question = `Change ${escapeLine(plan.location)}, which is in use?`;
    if (!(await confirm(context, question, 'changing a bucket that is there'))) {
      terminal.note('nothing was changed');
      return EXIT.refused;
    }
  }
  const report = await withProgress(terminal, () => 'setting the bucket up', initBucket(url, wishes));
  write(context, report, options);
  return report.items.some(({ outcome }) => outcome === 'denied') ? EXIT.unreadable : EXIT.ok;
}

/** What would be another way than now in a bucket that is there already. */
function changesOf({ items }: BucketInitReport): BucketInitItem[] {
  const isThere = items.some(({ item, outcome }) => item === 'bucket' && outcome === 'unchanged');
  return isThere ? items.filter(({ item, outcome }) => item !== 'bucket' && outcome === 'planned') : [];
}

function wishesOf(options: BucketOptions): Omit<BucketInitOptions, 'env' | 'cwd'> {
  const days = (text: string | undefined, option: string): number | undefined =>
    text === undefined ? undefined : parseCount(text, option, 1, 36_500);
  const retentionDays = days(options.retentionDays, '--retention-days');
  const quarantineDays = days(options.quarantineDays, '--quarantine-days');
  const tier = options.tier === undefined ? undefined : tierOf(options.tier);
  return {
    ...(retentionDays === undefined ? {} : { retentionDays }),
    ...(quarantineDays === undefined ? {} : { quarantineDays }),
    ...(tier === undefined ? {} : { tier }),
    ...(options.kmsKey === undefined ? {} : { encryption: { kmsKeyId: options.kmsKey } }),
    ...(options.writer === undefined ? {} : { writers: principals(options.writer, '--writer') }),
    ...(options.reader === undefined ? {} : { readers: principals(options.reader, '--reader') }),
  };
}

/** People, roles and accounts. `*` would open the recordings to everybody; what else is no ARN is a bucket that came too late. */
function principals(words: readonly string[], option: string): string[] {
  for (const word of words) {
    if (/^(?:\d{12}|arn:[\w-]+:(?:iam|sts):[^*\s]+)$/.test(word)) continue;
    throw usage(
      `${option} takes ARNs of users and roles or account numbers, not "${escapeLine(word)}"`,
      `orangebox bucket init s3://bucket/prefix ${option} arn:aws:iam::123456789012:user/name`,
    );
  }
  return [...words];
}

function tierOf(text: string): NonNullable<BucketInitOptions['tier']> {
  const [, storageClass, days] = /^([A-Za-z0-9_-]+):(\d+)$/.exec(text.trim()) ?? [];
  if (storageClass === undefined || days === undefined)
    throw usage(`--tier takes CLASS:DAYS, not "${escapeLine(text)}"`, 'for example --tier STANDARD_IA:30');
  return { storageClass: storageClass.toUpperCase(), days: parseCount(days, 'the days of --tier', 1, 36_500) };
}

const ITEM_WORDS: { readonly [outcome in BucketInitItem['outcome']]: string } = {
  made: 'made',
  changed: 'changed',
  unchanged: 'as it was',
  planned: 'would be set',
  skipped: 'left alone',
  not_offered: 'not offered',
  denied: 'not allowed',
};

function write({ terminal }: CommandContext, report: BucketInitReport, options: BucketOptions): void {
  if (options.json === true) {
    terminal.line(safeJson(report, 2));
    return;
  }
  const c = terminal.colors;
  terminal.line(c.bold(escapeLine(report.location)));
  for (const item of report.items) {
    const { outcome, detail } = item;
    const paint =
      outcome === 'denied' ? c.red : outcome === 'not_offered' ? c.yellow : outcome === 'made' ? c.green : String;
    terminal.line(`  ${padEnd(itemName(item), 13)}  ${paint(padEnd(ITEM_WORDS[outcome], 12))}  ${escapeLine(detail)}`);
  }
  if (report.policies === undefined) return;
  for (const [role, policy] of Object.entries(report.policies)) {
    terminal.line();
    terminal.line(c.dim(`policy of a ${role}:`));
    for (const line of policyLines(policy)) terminal.line(line);
  }
}

function itemName({ item }: BucketInitItem): string {
  return item.replace('_', ' ');
}
