/** The corpus under another version of Node.js, with `openai` 7: what the SDK gives, and what clients of the wire send and get. */
import { hasCorpus, loadCorpus } from '../../corpus/load.mjs';
import { runSdkVersion, sdkVersion } from '../../corpus/sdk.mjs';
import { runWire, wirePassed } from '../../corpus/wire.mjs';

/** False where the corpus is not there. */
export async function runCorpus(from, node, major, check) {
  if (!hasCorpus()) return false;
  const exchanges = loadCorpus();
  const sdk = await runSdkVersion({ from, every: major === 22 ? 2 : 6, node }, exchanges);
  const label = `Node.js ${major}, openai ${sdkVersion(from)}: ${sdk.equal} of ${sdk.calls} calls equal, ${sdk.events} stream events`;
  check(label, sdk.failures.length === 0, JSON.stringify(sdk.failures.slice(0, 3)));
  for (const figures of await runWire(exchanges, undefined, 0, node)) {
    const { client, recorded, madeUp, failures, programNoticed } = figures;
    const equal = `${recorded.equal + madeUp.equal} of ${recorded.exchanges + madeUp.exchanges} exchanges equal`;
    check(
      `Node.js ${major}, ${client}: ${equal}`,
      wirePassed(figures),
      JSON.stringify([failures.slice(0, 3), programNoticed.slice(0, 3)]),
    );
  }
  return true;
}
