/** What a program that is started from this environment would do: mode, spans, misspelt variables. */
import { readConfig } from '@orangebox/recorder';
import type { CommandContext } from '../context.ts';
import { nearest } from '../suggest.ts';
import type { Check } from './check.ts';
import { KNOWN_VARIABLES } from './known-variables.ts';

const MODES = {
  local: 'a program started here records into the directory; nothing leaves the machine',
  split: 'a program started here records into the directory and sends payloads to ORANGEBOX_ENDPOINT',
  inline: 'a program started here records into the directory and sends payloads on its spans, wherever those go',
  metadata: 'a program started here sends spans without content and keeps no bodies',
} as const;

/** Checks the environment variables. */
export function checkEnvironment(context: CommandContext): Check[] {
  const warnings: string[] = [];
  const config = readConfig(
    context.env.all,
    (_variable, message) => warnings.push(message),
    () => context.cwd,
  );
  const checks: Check[] = warnings.map((message) => ({ name: 'setting', result: 'warning', message }));
  for (const name of Object.keys(context.env.recording)) {
    // The archiver checks its own.
    if (KNOWN_VARIABLES.includes(name) || name.startsWith('ORANGEBOX_ARCHIVE_')) continue;
    const near = nearest(name, KNOWN_VARIABLES);
    const message = `${name} means nothing`;
    checks.push({
      name: 'setting',
      result: 'warning',
      message,
      ...(near === undefined ? {} : { hint: `did you mean ${near}?` }),
    });
  }
  if (config.level === 'off')
    checks.push({
      name: 'mode',
      result: 'warning',
      message: 'ORANGEBOX_LEVEL=off: a program started here is not recorded',
    });
  else {
    const hint =
      config.mode === 'metadata' && config.level !== 'metadata' ? 'ORANGEBOX_DIR turns local keeping on' : undefined;
    checks.push({ name: 'mode', result: 'ok', message: MODES[config.mode], ...(hint === undefined ? {} : { hint }) });
  }
  const { otel } = config;
  const spans = otel.disabled
    ? 'no spans (OTEL_SDK_DISABLED or OTEL_TRACES_EXPORTER=none)'
    : otel.exporter === 'none'
      ? "spans go to the application's own OpenTelemetry set-up, if it has one"
      : otel.exporter === 'console'
        ? 'spans go to the console'
        : `spans go to the OTLP endpoint (${otel.protocol})`;
  checks.push({ name: 'spans', result: 'ok', message: spans });
  if (otel.attributeValueLimit !== undefined && otel.attributeValueLimit < 80) {
    const hint = 'a snapshot key takes 78 characters; raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT';
    checks.push({
      name: 'spans',
      result: 'warning',
      message: `attribute values are cut at ${otel.attributeValueLimit} characters`,
      hint,
    });
  }
  return checks;
}
