import { expect, it } from 'vitest';
import { parseReports } from './run-report.ts';

it('sums the reports of several processes and passes over what is none', () => {
  const text = [
    '{"recorded":2,"hosts":["a.example"]}',
    'garbage',
    '{"recorded":1,"hosts":["b.example","a.example"]}',
    '[]',
    '',
  ].join('\n');
  expect(parseReports(text)).toEqual({ recorded: 3, hosts: ['a.example', 'b.example'] });
});

it('is nothing where nobody reported', () => {
  expect(parseReports('')).toBeUndefined();
  expect(parseReports('garbage\n[]\n')).toBeUndefined();
});

it('takes hosts with their counts too, and nothing that is no text', () => {
  expect(parseReports('{"recorded":0,"hosts":[{"host":"a.example","count":3}]}')?.hosts).toEqual(['a.example']);
  expect(parseReports('{"recorded":"9","hosts":[1,null]}')).toEqual({ recorded: 0, hosts: [] });
});
