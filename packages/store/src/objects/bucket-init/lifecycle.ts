/** Lifecycle rules by prefix: how long objects stay, and when they move to a cheaper tier. */
import type { LifecycleRule, TransitionStorageClass } from '@aws-sdk/client-s3';
import { INDEX_PREFIX, QUARANTINE_PREFIX, SNAPSHOT_PREFIX } from '@orangebox/schema';
import { sha256 } from '../../hash.ts';
import { type BucketSetup, isNotOffered } from './bucket-setup.ts';
import type { BucketInitOutcome } from './init-report.ts';

/** What is wanted of a bucket's lifecycle. */
export interface LifecycleWishes {
  /** Days that snapshots and their index stay; for ever when left out. */
  retentionDays?: number;
  /** Days that refused payloads stay (default 30). */
  quarantineDays?: number;
  /** Moves snapshots to another storage class after some days. */
  tier?: { days: number; storageClass: string };
}

/** The rules that the wishes mean, one per prefix. */
export function wantedRules(wishes: LifecycleWishes, prefix: string): LifecycleRule[] {
  const { retentionDays, quarantineDays = 30, tier } = wishes;
  const rule = (folder: string, days: number | undefined, transition?: typeof tier): LifecycleRule[] => {
    if (days === undefined && !transition) return [];
    return [
      {
        ID: ruleId(prefix, folder),
        Status: 'Enabled',
        Filter: { Prefix: prefix + folder },
        ...(days === undefined ? {} : { Expiration: { Days: days } }),
        ...(transition
          ? {
              Transitions: [{ Days: transition.days, StorageClass: transition.storageClass as TransitionStorageClass }],
            }
          : {}),
      },
    ];
  };
  return [
    ...rule(SNAPSHOT_PREFIX, retentionDays, tier),
    ...rule(INDEX_PREFIX, retentionDays),
    ...rule(QUARANTINE_PREFIX, quarantineDays),
  ];
}

/** A rule's name: to be read by people, and another one for every prefix, whatever characters it has. */
function ruleId(prefix: string, folder: string): string {
  const readable = `orangebox-${prefix}${folder}`.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 200);
  return prefix === '' ? readable : `${readable}${sha256(prefix).slice(0, 8)}`;
}

/** What merging the wanted rules into a bucket's comes to. */
interface MergedRules {
  rules: LifecycleRule[];
  hasChanged: boolean;
  /** Prefixes that have a rule of somebody else, which is left alone. */
  foreign: string[];
}

/** Puts the wanted rules in the place of our earlier ones. Rules of others stay as they are. */
export function mergeRules(existing: readonly LifecycleRule[], wanted: readonly LifecycleRule[]): MergedRules {
  const rules = [...existing];
  const foreign: string[] = [];
  let hasChanged = false;
  for (const rule of wanted) {
    const at = rules.findIndex((found) => found.ID === rule.ID || prefixOf(found) === prefixOf(rule));
    const found = rules[at];
    if (!found) rules.push(rule);
    else if (meaning(found) === meaning(rule)) continue;
    else if (found.ID !== rule.ID) {
      foreign.push(prefixOf(rule));
      continue;
    } else rules[at] = rule;
    hasChanged = true;
  }
  return { rules, hasChanged, foreign };
}

function prefixOf(rule: LifecycleRule): string {
  return rule.Filter?.Prefix ?? rule.Filter?.And?.Prefix ?? rule.Prefix ?? '';
}

/** A text that is equal for rules that do the same; stores give them back in slightly different forms. */
function meaning(rule: LifecycleRule): string {
  const tiers = (rule.Transitions ?? []).map(({ Days, StorageClass }) => `${Days} ${StorageClass}`);
  return JSON.stringify([prefixOf(rule), rule.Status, rule.Expiration?.Days ?? null, tiers.sort()]);
}

/** One line about the rules. */
function describeRules(rules: readonly LifecycleRule[]): string {
  return rules
    .map((rule) => {
      const tiers = (rule.Transitions ?? []).map(({ Days, StorageClass }) => `to ${StorageClass} after ${Days} d`);
      const end = rule.Expiration?.Days === undefined ? [] : [`deleted after ${rule.Expiration.Days} d`];
      return `${prefixOf(rule)} ${[...tiers, ...end].join(', ')}`;
    })
    .join('; ');
}

/** Sets the rules up, without tiers where the store has no such storage class. */
export async function setUpLifecycle(setup: BucketSetup, wishes: LifecycleWishes): Promise<void> {
  const { tier, ...withoutTier } = wishes;
  if (wishes.retentionDays === undefined) {
    setup.say(
      'lifecycle',
      'skipped',
      'no retention was asked for: snapshots stay, unless a rule that is there says else',
    );
  }
  if (tier && (await setUpRules(setup, wantedRules(wishes, setup.prefix), true))) return;
  if (tier) setup.say('tiers', 'not_offered', `the store has no storage class ${tier.storageClass} to move objects to`);
  await setUpRules(setup, wantedRules(withoutTier, setup.prefix), false);
}

/** False where the store refused rules with tiers, which is then not said. */
async function setUpRules(setup: BucketSetup, wanted: LifecycleRule[], hasTiers: boolean): Promise<boolean> {
  const { sdk, client, bucket: Bucket } = setup;
  const said = setup.items.length;
  let wasRefused = false;
  const work = async (): Promise<BucketInitOutcome> => {
    const found = await setup.ask(/^NoSuchLifecycle/, () =>
      client.send(new sdk.GetBucketLifecycleConfigurationCommand({ Bucket })),
    );
    const { rules, hasChanged, foreign } = mergeRules(found?.Rules ?? [], wanted);
    if (foreign.length > 0) {
      setup.say('lifecycle', 'skipped', `${foreign.join(', ')} has a rule that is not ours: left as it is`);
    }
    if (!hasChanged) return 'unchanged';
    return setup.change(found?.Rules === undefined, async () => {
      const LifecycleConfiguration = { Rules: rules };
      await client
        .send(new sdk.PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration }))
        .catch((error: unknown) => {
          if (!hasTiers || !isNotOffered(error)) throw error;
          wasRefused = true;
        });
    });
  };
  await setup.setUp('lifecycle', work, describeRules(wanted));
  if (wasRefused) setup.items.splice(said);
  return !wasRefused;
}
