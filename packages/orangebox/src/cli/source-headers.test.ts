import { describe, expect, it } from 'vitest';
import { parseHeaderPairs } from './source-headers.ts';

describe('headers for a source', () => {
  it('are pairs with commas between, values percent-decoded', () => {
    const text = 'authorization=Bearer%20a%3Db, X-Scope-OrgID=team=7,';
    expect(parseHeaderPairs(text)).toEqual({
      headers: { authorization: 'Bearer a=b', 'X-Scope-OrgID': 'team=7' },
      problems: [],
    });
  });

  it.each(['secret', '=secret', 'na me=secret', 'x=%zz-secret', 'x=%0d%0ay:secret', 'x=%E2%82%ACsecret'])(
    '%j is no header, and its text is not repeated',
    (text) => {
      const { headers, problems } = parseHeaderPairs(text);
      expect(headers).toEqual({});
      expect(problems).toHaveLength(1);
      expect(problems[0]).not.toContain('secret');
    },
  );
});
