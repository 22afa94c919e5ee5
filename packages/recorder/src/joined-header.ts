/** Headers as the protocol reads them. */
import type { HeaderList } from '@orangebox/schema';

/** Value of a header (`name` in lower case); duplicates joined with commas, as HTTP does. */
export function joinedHeader(headers: HeaderList | undefined, name: string): string | undefined {
  const values = headers?.filter(([n]) => n.toLowerCase() === name).map(([, value]) => value);
  return values && values.length > 0 ? values.join(', ') : undefined;
}
