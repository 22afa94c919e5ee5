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
    [...new Set([...Object.keys(recorded[kind]), ...Object.keys(live[kind])])]
      .filter((name) => recorded[kind][name] !== live[kind][name])
      .map((name) => ({
        ...compared(name, recorded[kind][name], live[kind][name])[0],
        name,
        ...(kind === 'hashes' ? { isHashed: true as const } : {}),
      })),
  );
}
