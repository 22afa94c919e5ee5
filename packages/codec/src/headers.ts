/** Looking into header lists. */
import type { HeaderList } from '@orangebox/schema';

/** The first value of a header, whatever the case of its name; `name` is in lower case. */
export function headerOf(headers: HeaderList | undefined, name: string): string | undefined {
  if (!headers) return undefined;
  for (const [key, value] of headers) {
    if (key.length === name.length && key.toLowerCase() === name) return value;
  }
  return undefined;
}
