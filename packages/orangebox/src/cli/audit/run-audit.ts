/** One audit from beginning to end: servers, marks, seeds, traps, the command, and the search. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditPlan, PLAN_VARIABLE, type SeedCall } from '../../audit-probe/plan.ts';
import { registerPath } from '../commands/path.ts';
import { quotedPath } from '../commands/run.ts';
import type { CommandContext } from '../context.ts';
import { filesBelow, observedEvidence, receivedEvidence, recordingEvidence } from './evidence.ts';
import { MarkFinder } from './find-marks.ts';
import {
  behaviourFindings,
  fileFindings,
  type Finding,
  leaksIn,
  missingControls,
  requestFindings,
} from './findings.ts';
import { type Mark, Marks } from './marks.ts';
import { readObservations } from './observations.ts';
import { type Provider, startProvider } from './provider.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { AuditReport } from './report.ts';
import { auditFile, type Ended, ownDirectories, runProcess } from './run-audited.ts';
import { planSeeds, type Seeds } from './seed-plan.ts';
import { layTraps, type Trap } from './traps.ts';

/** What is audited, and how. */
export interface AuditTask {
  /** Starts the command with this environment. */
  run: (env: NodeJS.ProcessEnv) => Promise<Ended>;
  /** The program keeps its own provider. */
  live: boolean;
  /** Leave the directory of the audit. */
  keep: boolean;
  /** Count the command's own failure as none. */
  allowFailure: boolean;
}

const SEEDS_TIMEOUT_MS = 120_000;
const SEEDS_FLUSH_MS = 20_000;

/** Runs the audit. */
export async function runAudit(context: CommandContext, task: AuditTask): Promise<AuditReport> {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'orangebox-audit-')));
  const [receiver, provider] = await Promise.all([startReceiver(), startProvider()]);
  try {
    const site = prepare(context, directory, receiver, provider);
    await Promise.all([runSeeds(site), ...site.traps.map((trap) => runTrap(site, trap))]);
    const ended = await task.run(commandEnv(site, task.live));
    return judge(site, task, ended);
  } finally {
    await Promise.all([receiver.close(), provider.close()]);
    if (!task.keep) rmSync(directory, { recursive: true, force: true });
  }
}

/** Everything that the steps share. */
interface Site {
  context: CommandContext;
  directory: string;
  recordDir: string;
  plan: AuditPlan;
  planFile: string;
  marks: readonly Mark[];
  seeds: Seeds;
  traps: Trap[];
  receiver: Receiver;
  provider: Provider;
  /** Credentials that the receiver is to get. */
  credentials: { payloads: string; telemetry: string };
}

function prepare(context: CommandContext, directory: string, receiver: Receiver, provider: Provider): Site {
  const recordDir = join(directory, 'recordings');
  const eventsDir = join(directory, 'events');
  mkdirSync(eventsDir, { mode: 0o700 });
  const marks = new Marks();
  // A port that was the system's to give a moment ago refuses; 9 is nobody's on loopback.
  const seeds = planSeeds(marks, provider.origin, 'http://127.0.0.1:9');
  provider.answer(seeds.answers, {
    content: `An answer that quotes ${Object.values(seeds.environment)[0] ?? ''}`,
    cookie: marks.secret('Set-Cookie of an answer to the program', 'plain'),
    token: marks.secret('x-auth-token of an answer to the program', 'plain'),
  });
  const credentials = {
    payloads: marks.secret('credential in ORANGEBOX_HEADERS', 'plain'),
    telemetry: marks.secret('credential in OTEL_EXPORTER_OTLP_HEADERS', 'plain'),
  };
  const register = realpathSync(registerPath());
  const seedsFile = join(directory, 'seeds.json');
  writeFileSync(seedsFile, JSON.stringify({ calls: seeds.calls, tools: seeds.tools }), { mode: 0o600 });
  const plan: AuditPlan = {
    register,
    eventsDir,
    ownDirs: ownDirectories(register),
    recordDir,
    receiverPort: receiver.port,
    seedsFile,
  };
  const planFile = join(directory, 'plan.json');
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  return {
    context,
    directory,
    recordDir,
    plan,
    planFile,
    marks: marks.all,
    seeds,
    traps: layTraps(directory, context.nowMs),
    receiver,
    provider,
    credentials,
  };
}

/** Where Orangebox sends to and what is planted; of the caller's own settings those that would send elsewhere are left out. */
function plantedEnv(site: Site): NodeJS.ProcessEnv {
  const { receiver, credentials, seeds, recordDir } = site;
  const own = Object.entries(site.context.env.all).filter(([name]) => !name.startsWith('OTEL_EXPORTER_OTLP_'));
  return {
    ...Object.fromEntries(own),
    ...seeds.environment,
    ORANGEBOX_DIR: recordDir,
    ORANGEBOX_ENDPOINT: receiver.url,
    ORANGEBOX_HEADERS: `authorization=Bearer%20${credentials.payloads}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${credentials.telemetry}`,
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    [PLAN_VARIABLE]: site.planFile,
  };
}

function commandEnv(site: Site, live: boolean): NodeJS.ProcessEnv {
  const env = plantedEnv(site);
  const probe = quotedPath(auditFile(site.plan.register, 'probe'));
  // Before everything else, so that what the options name is seen too.
  env['NODE_OPTIONS'] = [`--require ${probe}`, site.context.env.nodeOptions ?? ''].join(' ').trim();
  if (!live) {
    env['OPENAI_BASE_URL'] = `${site.provider.origin}/v1`;
    env['OPENAI_API_KEY'] = Object.values(site.seeds.environment)[0];
  }
  return env;
}

/** The caller's environment without settings of the recorder, which the seeds do not follow. */
function seedsEnv(site: Site): NodeJS.ProcessEnv {
  const planted = Object.entries(plantedEnv(site)).filter(([name]) => !/^(?:ORANGEBOX|OTEL|NODE_OPTIONS)/.test(name));
  return { ...Object.fromEntries(planted), [PLAN_VARIABLE]: site.planFile };
}

async function runSeeds(site: Site): Promise<void> {
  const { register } = site.plan;
  const all = plantedEnv(site);
  const set = Object.entries(all).filter(([name]) => /^(?:ORANGEBOX_(?:DIR|ENDPOINT|HEADERS)|OTEL_)/.test(name));
  const env = { ...seedsEnv(site), ...Object.fromEntries(set), ORANGEBOX_EXIT_FLUSH_MS: String(SEEDS_FLUSH_MS) };
  await runProcess(process.execPath, ['--require', auditFile(register, 'probe'), auditFile(register, 'seeds')], {
    env,
    cwd: site.directory,
    stdio: 'ignore',
    timeoutMs: SEEDS_TIMEOUT_MS,
  });
}

/** One call into a directory that holds a link. */
async function runTrap(site: Site, trap: Trap): Promise<void> {
  const { register } = site.plan;
  const seedsFile = join(site.directory, 'one-seed.json');
  const calls: SeedCall[] = site.seeds.calls.slice(0, 1);
  writeFileSync(seedsFile, JSON.stringify({ calls, tools: [] }), { mode: 0o600 });
  const planFile = join(site.directory, `plan-${trap.name}.json`);
  writeFileSync(planFile, JSON.stringify({ ...site.plan, seedsFile, eventsDir: site.directory }), { mode: 0o600 });
  await runProcess(process.execPath, ['--require', register, auditFile(register, 'seeds')], {
    env: { ...seedsEnv(site), ORANGEBOX_DIR: trap.dir, [PLAN_VARIABLE]: planFile },
    cwd: site.directory,
    stdio: 'ignore',
    timeoutMs: SEEDS_TIMEOUT_MS,
  });
}

function judge(site: Site, task: AuditTask, ended: Ended): AuditReport {
  const { marks, receiver, provider, recordDir, plan, seeds, credentials } = site;
  const observed = readObservations(plan.eventsDir);
  const files = filesBelow(recordDir);
  const seen = { recording: new Set<Mark>(), payload: new Set<Mark>() };
  const finder = new MarkFinder(marks);
  const allowed = new Set(Object.values(credentials).map((value) => `Bearer ${value}`));
  const findings: Finding[] = [
    ...leaksIn(recordingEvidence(recordDir, files), finder, seen),
    ...leaksIn(receivedEvidence(receiver.requests, allowed), finder, seen),
    ...leaksIn(observedEvidence(observed, recordDir), finder, seen),
    ...missingControls(marks, seen),
    ...fileFindings(files),
    ...site.traps.flatMap((trap) => trap.sprung()),
    ...behaviourFindings(observed, { recordDirs: [recordDir], receiverPort: receiver.port }),
    ...requestFindings(seeds.calls, provider.seen),
  ];
  const unseen = [
    ...(observed.some(({ seeds: isSeeds }) => isSeeds) ? [] : ['the audit could not see its own seeded calls']),
    ...(observed.some(({ seeds: isSeeds }) => !isSeeds)
      ? []
      : ['no process of the command loaded Orangebox: it is no Node.js program, or drops NODE_OPTIONS']),
    ...(receiver.droppedBytes() > 0
      ? [`${receiver.droppedBytes()} bytes that were sent are too many to be searched`]
      : []),
  ];
  for (const message of unseen) findings.push({ kind: 'not_seen', message });
  if (!task.allowFailure && (ended.code !== 0 || ended.signal !== null)) {
    const how = ended.signal ?? `exit code ${ended.code}`;
    findings.push({
      kind: 'command_failed',
      message: `the command itself ended with ${how}; --allow-failure if it is to`,
    });
  }
  return {
    clean: findings.length === 0,
    findings,
    command: ended,
    ...(task.keep ? { directory: site.directory } : {}),
    secrets: marks.filter(({ kind }) => kind === 'secret').length,
    controls: marks.filter(({ kind }) => kind === 'control').length,
    seededCalls: seeds.calls.length,
    programCalls: task.live ? undefined : provider.programCalls(),
    recordings: files.filter(({ isDirectory }) => !isDirectory).map(({ path }) => path.slice(recordDir.length + 1)),
    sent: sentOf(receiver),
    receiverPort: receiver.port,
    recordDir,
    observed,
  };
}

function sentOf({ requests }: Receiver): AuditReport['sent'] {
  const byPath = new Map<string, { path: string; requests: number; bytes: number }>();
  for (const { path, body } of requests) {
    const sum = byPath.get(path) ?? { path, requests: 0, bytes: 0 };
    sum.requests += 1;
    sum.bytes += body.length;
    byPath.set(path, sum);
  }
  return [...byPath.values()];
}
