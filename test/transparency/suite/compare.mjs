/** Compares what two runs of a program showed; what differs by the run alone is made equal first. */

function plain(text, run) {
  let result = run.plain === undefined ? text : run.plain(text);
  for (const [from, to] of run.names) result = result.replaceAll(from, to);
  return result.replaceAll(/\(node:\d+\)/g, '(node:<pid>)').replaceAll(/127\.0\.0\.1:\d{4,5}/g, '127.0.0.1:<port>');
}

/** An observation is a JSON array of label and value. */
const labelOf = (line) => (line === undefined ? undefined : /^\["([^"]*)"/.exec(line)?.[1]);

/** The first place in which two texts differ, with a little around it. */
function excerpt(without, with_) {
  let at = 0;
  while (at < without.length && without[at] === with_[at]) at += 1;
  const from = Math.max(0, at - 120);
  return `without: …${without.slice(from, at + 240)}\n       with:    …${with_.slice(from, at + 240)}`;
}

/** Deviations as `{label, detail}`, in the order of the program. */
export function compareRuns(without, with_) {
  const deviations = [];
  const differ = (label, a, b) => {
    if (a !== b) deviations.push({ label, detail: excerpt(String(a), String(b)) });
  };
  const [left, right] = [without, with_].map((run) => run.observations.map((line) => plain(line, run)));
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const label = labelOf(left[i]) ?? labelOf(right[i]);
    differ(label, left[i], right[i]);
    // After a first difference in order everything would differ.
    if (labelOf(left[i]) !== labelOf(right[i])) break;
  }
  for (const name of ['stdout', 'stderr']) differ(name, plain(without[name], without), plain(with_[name], with_));
  differ('exit code', without.code, with_.code);
  differ('signal', without.signal, with_.signal);
  differ('killed at its time limit', without.late, with_.late);
  return deviations;
}
