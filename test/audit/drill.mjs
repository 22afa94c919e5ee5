/** `npm run drill:audit`: every leak in a build of its own, and the real build. Arguments pick leaks by a part of their name. */
import { allLeaks, auditAll, takeBuild } from './audit-build.mjs';

const AT_ONCE = 2;
const words = process.argv.slice(2);
const leaks = (await allLeaks()).filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const build = takeBuild();
try {
  const results = await auditAll(build, [undefined, ...leaks], AT_ONCE, ({ leak, found, code, report, ms }) => {
    const isRight = leak === undefined ? code === 0 : found;
    const first = report.findings.find(({ kind, message }) => kind === leak?.finds && leak.mentions.test(message));
    const said = (first ?? report.findings[0])?.message ?? 'nothing found';
    const name = leak?.name ?? 'the real build';
    console.log(
      `${isRight ? 'ok ' : 'BAD'} ${(ms / 1000).toFixed(1).padStart(5)} s  ${name.padEnd(36)} ${said.slice(0, 110)}`,
    );
  });
  const [real, ...leaky] = results;
  const found = leaky.filter((result) => result.found).length;
  console.log(`${found} of ${leaky.length} leaks found; ${real.report.findings.length} findings on the real build`);
  process.exitCode = found === leaky.length && real.code === 0 ? 0 : 1;
} finally {
  build.remove();
}
