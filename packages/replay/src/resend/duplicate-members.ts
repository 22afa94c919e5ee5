/** Finds JSON objects that name a member twice, which `JSON.parse` hides. */

/** Whether any object of a valid JSON text has two members of one name. */
export function hasDuplicateMembers(json: string): boolean {
  const open: (Set<string> | undefined)[] = [];
  let isName = false;
  for (let i = 0; i < json.length; i += 1) {
    switch (json[i]) {
      case '{':
        open.push(new Set());
        isName = true;
        break;
      case '[':
        open.push(undefined);
        isName = false;
        break;
      case '}':
      case ']':
        open.pop();
        isName = false;
        break;
      case ',':
        isName = open.at(-1) !== undefined;
        break;
      case ':':
        isName = false;
        break;
      case '"': {
        const end = stringEnd(json, i);
        const names = open.at(-1);
        if (isName && names) {
          const name = JSON.parse(json.slice(i, end)) as string;
          if (names.has(name)) return true;
          names.add(name);
        }
        i = end - 1;
        break;
      }
      default:
    }
  }
  return false;
}

/** Index after a string's closing quote. */
function stringEnd(json: string, start: number): number {
  let i = start + 1;
  while (i < json.length && json[i] !== '"') i += json[i] === '\\' ? 2 : 1;
  return i + 1;
}
