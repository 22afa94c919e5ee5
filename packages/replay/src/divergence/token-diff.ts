/** What changed inside a text, in words and signs. */
import type { TokenChange } from './types.ts';

/** Words compared with one another; longer stretches are shown as one change. */
const TOKENS_MAX = 1200;
/** Characters of an equal stretch that are shown at its ends. */
const CONTEXT_CHARS = 40;

/** The pieces of two texts, in order; long equal pieces are cut to what stands beside a change. */
export function tokenDiff(recorded: string, live: string): TokenChange[] {
  const left = wordsOf(recorded);
  const right = wordsOf(live);
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head += 1;
  let tail = 0;
  const most = Math.min(left.length, right.length) - head;
  while (tail < most && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail += 1;
  const changes: TokenChange[] = [];
  add(changes, 'same', left.slice(0, head));
  compare(left.slice(head, left.length - tail), right.slice(head, right.length - tail), changes);
  add(changes, 'same', left.slice(left.length - tail));
  return changes.map((change, i) =>
    change.op === 'same' ? { ...change, text: cut(change.text, i, changes.length) } : change,
  );
}

function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^]/gu) ?? [];
}

/** The longest common row of words; what is in one only is a change. */
function compare(left: string[], right: string[], out: TokenChange[]): void {
  if (left.length === 0 || right.length === 0 || left.length > TOKENS_MAX || right.length > TOKENS_MAX) {
    add(out, 'recorded', left);
    add(out, 'live', right);
    return;
  }
  const width = right.length + 1;
  const common = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      common[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const [mine, theirs] = [left[i], right[j]];
    if (mine !== undefined && mine === theirs) {
      add(out, 'same', [mine]);
      i += 1;
      j += 1;
    } else if (mine !== undefined && (theirs === undefined || at(i + 1, j) >= at(i, j + 1))) {
      add(out, 'recorded', [mine]);
      i += 1;
    } else {
      add(out, 'live', [theirs ?? '']);
      j += 1;
    }
  }
}

function add(out: TokenChange[], op: TokenChange['op'], words: readonly string[]): void {
  if (words.length === 0) return;
  const text = words.join('');
  const last = out.at(-1);
  if (last?.op === op) last.text += text;
  // What one side lost stands before what the other has instead.
  else if (op === 'recorded' && last?.op === 'live' && out.at(-2)?.op === 'recorded')
    (out.at(-2) as TokenChange).text += text;
  else out.push({ op, text });
}

function cut(text: string, i: number, count: number): string {
  if (text.length <= 2 * CONTEXT_CHARS) return text;
  const head = i === 0 ? '' : text.slice(0, CONTEXT_CHARS);
  const tail = i === count - 1 ? '' : text.slice(-CONTEXT_CHARS);
  return `${head}…${tail}`;
}
