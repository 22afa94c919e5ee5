/** What is settled when an exchange begins: the level, what that keeps, and where its records go until it is decided. */
import type { Level } from '@orangebox/schema';
import type { Mode, RecorderConfig } from './config.ts';
import { KEEP_ERRORS, type SamplePolicy, type SampleVerdict } from './sampling-policy.ts';

/** What a level means under a configuration. */
export interface LevelPlan {
  readonly level: Exclude<Level, 'off'>;
  readonly mode: Mode;
  /** Bodies, arguments and results are recorded (false: heads and timings only). */
  readonly keepsBodies: boolean;
  /** Which calls are kept. */
  readonly sample: SamplePolicy;
}

/** How an exchange is recorded. A change of the level does not reach those that are open. */
export interface ExchangePlan extends LevelPlan {
  readonly verdict: SampleVerdict;
}

/** Plans of all levels, made once. */
export function levelPlans(config: RecorderConfig): Readonly<Record<Exclude<Level, 'off'>, LevelPlan>> {
  const keepsBodies = config.bodyMode !== 'metadata';
  const { bodyMode: mode, sample } = config;
  return {
    full: { level: 'full', mode, keepsBodies, sample },
    metadata: { level: 'metadata', mode: 'metadata', keepsBodies: false, sample },
    errors: { level: 'errors', mode, keepsBodies, sample: KEEP_ERRORS },
  };
}
