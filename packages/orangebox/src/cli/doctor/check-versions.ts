/** Node, Orangebox, and the packages of the project that matter to recording. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { registerPath } from '../commands/path.ts';
import type { CommandContext } from '../context.ts';
import { VERSION } from '../version.ts';
import type { Check } from './check.ts';

const NODE_FLOOR = [20, 19] as const;
const OPENAI_MAJORS = { min: 4, max: 7 } as const;

/** Checks the running Node, the preload file, `openai` and the OpenTelemetry API found from the working directory. */
export async function checkVersions(context: CommandContext): Promise<Check[]> {
  const checks = [checkNode(), checkPreload()];
  const openai = installedVersion(context.cwd, 'openai');
  if (openai !== undefined) {
    const major = Number(openai.split('.')[0]);
    const known = major >= OPENAI_MAJORS.min && major <= OPENAI_MAJORS.max;
    const message = known ? `openai ${openai}` : `openai ${openai} is not among the versions that were tried (4 to 7)`;
    checks.push({ name: 'sdk', result: known ? 'ok' : 'warning', message });
  }
  const api = installedVersion(context.cwd, '@opentelemetry/api');
  if (api !== undefined) {
    const [major = 0, minor = 0] = api.split('.').map(Number);
    const fits = major === 1 && minor >= 9 && minor < 11;
    checks.push({
      name: 'opentelemetry',
      result: fits ? 'ok' : 'warning',
      message: fits ? `@opentelemetry/api ${api}` : `@opentelemetry/api ${api} is outside >=1.9.0 <1.11.0`,
    });
  }
  return checks;
}

function checkNode(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fits = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1]);
  const message = `node ${process.versions.node}, orangebox ${VERSION}`;
  if (fits) return { name: 'versions', result: 'ok', message };
  return { name: 'versions', result: 'problem', message, hint: `node ${NODE_FLOOR.join('.')} or newer is needed` };
}

function checkPreload(): Check {
  try {
    const path = registerPath();
    if (existsSync(path)) return { name: 'preload', result: 'ok', message: path };
  } catch {
    // Resolving fails where the file is missing.
  }
  return {
    name: 'preload',
    result: 'problem',
    message: 'orangebox/register is not there',
    hint: 'install orangebox again',
  };
}

/** Version of a package as a program in this directory would get it; read from the file, nothing is loaded. */
function installedVersion(cwd: string, name: string): string | undefined {
  for (let at = cwd; ; at = dirname(at)) {
    try {
      const facts: unknown = JSON.parse(readFileSync(join(at, 'node_modules', name, 'package.json'), 'utf8'));
      if (typeof facts === 'object' && facts !== null && 'version' in facts) return String(facts.version);
    } catch {
      // Not here: further up.
    }
    if (dirname(at) === at) return undefined;
  }
}
