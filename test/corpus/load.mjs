/** Reads folders of recorded exchanges (gzipped or plain JSON Lines) in the form of the corpus' README. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const repository = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Where the corpus lies if it is there: `ORANGEBOX_CORPUS`, or beside the repository. */
export const corpusDirectory = () => resolve(process.env.ORANGEBOX_CORPUS ?? join(repository, '../shared/corpus'));

/** Whether the corpus is there. */
export const hasCorpus = () => existsSync(corpusDirectory());

/** All exchanges of a folder, sessions together and in order, each with its number as `n`. */
export function loadCorpus(directory = corpusDirectory()) {
  const exchanges = [];
  for (const name of readdirSync(directory).sort()) {
    if (!/\.jsonl(\.gz)?$/.test(name)) continue;
    const bytes = readFileSync(join(directory, name));
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
    for (const line of text.split('\n')) {
      if (line.trim() !== '') exchanges.push({ n: exchanges.length, ...JSON.parse(line) });
    }
  }
  return exchanges;
}

/** Bytes of a recorded body; empty when there is none. */
export function bodyBytes(message) {
  if (typeof message?.body_text === 'string') return Buffer.from(message.body_text, 'utf8');
  if (typeof message?.body_base64 === 'string') return Buffer.from(message.body_base64, 'base64');
  return Buffer.alloc(0);
}
