/** A tool of an agent, which reads a file. */
import { readFileSync } from 'node:fs';

export function weather(city) {
  const known = JSON.parse(readFileSync(new URL('weather.json', import.meta.url), 'utf8'));
  return { city, degrees: known.degrees, sky: 'clear' };
}
