import { describe, expect, it } from 'vitest';
import { sharesOf } from './cost.ts';

const OWN = '/app/node_modules/orangebox/dist';
const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
});

/** A profile in which each node but the root was seen for a millisecond times its id. */
function profileOf(nodes: ReturnType<typeof node>[]) {
  const samples = nodes.slice(1).map(({ id }) => id);
  return { nodes, samples, timeDeltas: samples.map((id) => id * 1000) };
}

describe('the shares of a profile', () => {
  it('give the platform and dependencies to whose code called them', () => {
    const profile = profileOf([
      node(1, '(root)', '', [2, 4]),
      node(2, 'append', `file://${OWN}/register.cjs`, [3]),
      node(3, 'writevSync', 'node:fs'),
      node(4, 'main', '/app/main.js', [5, 6]),
      node(5, 'readFileSync', 'node:fs'),
      node(6, 'encode', '/app/node_modules/@opentelemetry/x/index.js'),
    ]);
    const shares = sharesOf(profile, [OWN]);
    expect(shares).toMatchObject({ oursMs: 5, totalMs: 20, probeMs: 0, functions: [{ name: 'append', ms: 5 }] });
  });

  it("leave what a tap calls on to the program, and keep the tap's own time ours", () => {
    const profile = profileOf([
      node(1, '(root)', '', [2]),
      node(2, 'main', '/app/main.js', [3]),
      node(3, 'tapped', `${OWN}/register.cjs`, [4]),
      node(4, 'write', 'node:_http_outgoing'),
    ]);
    expect(sharesOf(profile, [OWN])).toMatchObject({ oursMs: 3, totalMs: 9 });
  });

  it("name the audit's own time, and count neither waiting nor the collector", () => {
    const profile = profileOf([
      node(1, '(root)', '', [2, 3, 4, 5]),
      node(2, '(idle)', ''),
      node(3, '(garbage collector)', ''),
      node(4, '(program)', ''),
      node(5, 'apply', `${OWN}/audit-probe.cjs`, [6]),
      node(6, 'openSync', 'node:fs'),
    ]);
    expect(sharesOf(profile, [OWN])).toMatchObject({ oursMs: 0, probeMs: 5, totalMs: 11 });
  });
});
