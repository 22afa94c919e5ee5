import { expect, it } from 'vitest';
import { s3Error } from './s3-errors.ts';

const message = (error: object): string => s3Error(error, 'read a', 's3://bucket').message;
const answered = (httpStatusCode: number): object => ({ $metadata: { httpStatusCode } });

it.each([
  [
    'a name and a text',
    { ...answered(404), name: 'NoSuchBucket', message: 'It is not there.' },
    '404 NoSuchBucket, It is not there.',
  ],
  [
    'an answer to HEAD, which has no body',
    { ...answered(403), name: 'Unknown', message: 'UnknownError' },
    'status 403',
  ],
  [
    'a text that names the fault',
    { name: 'Error', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED ::1:1' },
    'connect ECONNREFUSED ::1:1',
  ],
  ['several addresses that all refused', { name: 'AggregateError', code: 'ECONNREFUSED', message: '' }, 'ECONNREFUSED'],
])('says each word of %s once', (_what, error, words) => {
  expect(message(error)).toBe(`could not read a in s3://bucket: ${words}`);
});

it.each([
  ['AKIAIOSFODNN7', 'no signing method for xAKIAIOSFODNN7x', 'no signing method for x…x'],
  ['me', 'no signing method for me, "me" or home', 'no signing method for …, "…" or home'],
  ['a=+/$-', 'key a=+/$- is none, nor ba=+/$-', 'key … is none, nor ba=+/$-'],
])('takes the access key %s out of a text, a short one only where it stands alone', (secret, text, left) => {
  const error = s3Error({ name: 'InvalidAccessKeyId', message: text }, 'read a', 's3://bucket', [secret]);
  expect(error.message).toContain(left);
});
