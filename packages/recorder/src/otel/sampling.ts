/**
 * The samplers that `OTEL_TRACES_SAMPLER` names, as one pure decision. The private provider uses it too: whether a span
 * is sampled must be known before the SDK has been loaded, because the snapshot says so.
 * @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration
 */

/** Decides whether a span is recorded. `parentSampled` is undefined for a root. */
export type SamplingDecision = (traceId: string, parentSampled: boolean | undefined) => boolean;

/** `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` as a decision; anything unknown is `parentbased_always_on`. */
export function samplingDecision(sampler: string | undefined, argument: string | undefined): SamplingDecision {
  const root = rootDecision(sampler?.replace(/^parentbased_/, ''), argument);
  if (sampler !== undefined && /^(always_on|always_off|traceidratio)$/.test(sampler)) return (traceId) => root(traceId);
  return (traceId, parentSampled) => parentSampled ?? root(traceId);
}

function rootDecision(name: string | undefined, argument: string | undefined): (traceId: string) => boolean {
  if (name === 'always_off') return () => false;
  if (name !== 'traceidratio') return () => true;
  const given = argument === undefined || argument.trim() === '' ? Number.NaN : Number(argument);
  const ratio = given >= 0 && given <= 1 ? given : 1;
  return (traceId) => isWithinRatio(traceId, ratio);
}

/** Whether a trace is among this share of all traces (0 to 1). One of a smaller share is among every larger one. */
export function isWithinRatio(traceId: string, ratio: number): boolean {
  return ratio >= 1 || accumulate(traceId) < Math.floor(ratio * 0xff_ff_ff_ff);
}

/** The number that the JavaScript SDK compares with its bound: the trace id's four words, combined by xor. */
function accumulate(traceId: string): number {
  let accumulation = 0;
  for (let i = 0; i < 32; i += 8) accumulation = (accumulation ^ Number.parseInt(traceId.slice(i, i + 8), 16)) >>> 0;
  return accumulation;
}
