/** Facts of the recorded process beside those of the live one. */
import type { ComparedValue } from '../divergence/types.ts';
import type { ProcessReport } from './process-report.ts';

/** A fact that differs, alone in a list; nothing where it does not. */
export function compared(name: string, recorded: string | undefined, live: string | undefined): ComparedValue[] {
  if (recorded === live) return [];
  return [{ name, ...(recorded === undefined ? {} : { recorded }), ...(live === undefined ? {} : { live }) }];
}

/** Variables that differ. */
export function compareEnvironment(
  recorded: NonNullable<ProcessReport['live']>['environment'],
  live: NonNullable<ProcessReport['live']>['environment'],
): ComparedValue[] {
  const isOtherKey = areOfOtherKeys(recorded.hashes, live.hashes);
  return (['values', 'hashes'] as const).flatMap((kind) =>
    [...new Set([...Object.keys(recorded[kind]), ...Object.keys(live[kind])])].flatMap((name) => {
      const was = ownOf(recorded[kind], name);
      const is = ownOf(live[kind], name);
      if (kind === 'hashes' && isOtherKey && was !== undefined && is !== undefined) return [];
      return compared(name, was, is).map((value) => ({
        ...value,
        ...(kind === 'hashes' ? { isHashed: true as const } : {}),
      }));
    }),
  );
}

/** Variables of which it is unlikely that all of them have other values. */
const OTHERS_MIN = 4;

/** Whether hashes say nothing of one another: where a recording was taken to another place, the key stayed behind. */
function areOfOtherKeys(
  recorded: { readonly [name: string]: string },
  live: { readonly [name: string]: string },
): boolean {
  const common = Object.keys(recorded).filter((name) => Object.hasOwn(live, name));
  return common.length >= OTHERS_MIN && common.every((name) => recorded[name] !== live[name]);
}

/** A recording may name a variable `constructor`. */
function ownOf(map: { readonly [name: string]: string }, name: string): string | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}
