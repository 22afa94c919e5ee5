/** How much is recorded, and the file that says so to programs that run. */

/** The levels, most first. */
export const LEVELS = ['full', 'metadata', 'errors', 'off'] as const;

/** How much is recorded. */
export type Level = (typeof LEVELS)[number];

/** In the directory of recordings: a file of one word that sets the level of the programs that record there. */
export const LEVEL_FILE = 'level';

/** The level that a text names, in whatever case; undefined when it names none. */
export function parseLevel(text: string): Level | undefined {
  const word = text.trim().toLowerCase();
  return LEVELS.find((level) => level === word);
}
