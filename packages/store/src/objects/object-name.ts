/** Names of objects in a bucket: what every kind of bucket takes, checked once for all of them. */
import { OrangeboxError } from '@orangebox/schema';
import { TEMPORARY_PREFIX } from '../safe-fs.ts';

/** Longest name, in bytes: the limit of S3, less some room for the base prefix. */
const NAME_MAX_BYTES = 900;

/** Longest segment, in bytes: some stores keep objects as files. */
const SEGMENT_MAX_BYTES = 255;

/**
 * Gives back a name that is safe as an object's key and as a relative path: segments of printable ASCII without `..`,
 * doubled slashes, backslashes, or a name that is used for files being written.
 *
 * @throws OrangeboxError `OBX_STORE_FAILED` for any other name.
 */
export function checkObjectName(name: string): string {
  if (isObjectName(name)) return name;
  throw new OrangeboxError('OBX_STORE_FAILED', `not an object's name: ${JSON.stringify(name.slice(0, 120))}`, {
    hint: 'names are relative paths of printable ASCII, without . and .. segments',
  });
}

/** Whether {@link checkObjectName} takes a name. Listings pass over others. */
export function isObjectName(name: string): boolean {
  if (name.length > NAME_MAX_BYTES || !/^[\x21-\x5b\x5d-\x7e]+$/.test(name)) return false;
  return name.split('/').every(isSegment);
}

/** Whether a listing's prefix can be the beginning of names. */
export function isObjectPrefix(prefix: string): boolean {
  if (prefix === '') return true;
  return isObjectName(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
}

function isSegment(segment: string): boolean {
  if (segment === '' || segment === '.' || segment === '..') return false;
  return segment.length <= SEGMENT_MAX_BYTES && !segment.startsWith(TEMPORARY_PREFIX);
}

/**
 * Gives back a prefix that {@link isObjectPrefix} takes.
 *
 * @throws OrangeboxError `OBX_STORE_FAILED` for any other.
 */
export function checkObjectPrefix(prefix: string): string {
  if (isObjectPrefix(prefix)) return prefix;
  throw new OrangeboxError('OBX_STORE_FAILED', `not a prefix of names: ${JSON.stringify(prefix.slice(0, 120))}`, {
    hint: 'names are relative paths of printable ASCII, without . and .. segments',
  });
}

/** The error for an object that is larger than its reader takes. */
export function objectTooLarge(location: string, sizeBytes: number, maxBytes: number): OrangeboxError {
  return new OrangeboxError('OBX_SNAPSHOT_TOO_LARGE', `${location} has ${sizeBytes} bytes, more than ${maxBytes}`, {
    hint: 'no object of Orangebox is that large: check where it came from',
  });
}
