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
  return (['values', 'hashes'] as const).flatMap((kind) =>
    [...new Set([...Object.keys(recorded[kind]), ...Object.keys(live[kind])])].flatMap((name) =>
      compared(name, ownOf(recorded[kind], name), ownOf(live[kind], name)).map((value) => ({
        ...value,
        ...(kind === 'hashes' ? { isHashed: true as const } : {}),
      })),
    ),
  );
}

/** A recording may name a variable `constructor`. */
function ownOf(map: { readonly [name: string]: string }, name: string): string | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}
