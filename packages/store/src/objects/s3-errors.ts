/** What an S3 store or the way to it answered, as coded errors without credentials. */
import { OrangeboxError } from '@orangebox/schema';

/** What is known of a failed request. */
export interface S3Failure {
  /** Name of the error as the store gave it, e.g. `NoSuchBucket`. */
  name: string;
  /** HTTP status; absent when no answer came. */
  status?: number;
  message: string;
}

/** Takes an error of the SDK apart. */
export function s3Failure(error: unknown): S3Failure {
  const facts = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const metadata = facts['$metadata'] as Record<string, unknown> | undefined;
  const status = metadata?.['httpStatusCode'];
  const code = typeof facts['code'] === 'string' ? facts['code'] : undefined;
  const name = typeof facts['name'] === 'string' ? facts['name'] : 'Error';
  const message = typeof facts['message'] === 'string' ? facts['message'] : String(error);
  return {
    // Of a host with several addresses all attempts fail as one error, which says by its code what they failed of.
    name: (name === 'Error' || name === 'AggregateError') && code !== undefined ? code : name,
    message,
    ...(typeof status === 'number' ? { status } : {}),
  };
}

/** Names by which network errors go; everything else without a status is a fault of the client's set-up. */
const NETWORK = /^(E[A-Z_]+|UND_ERR_\w+|TimeoutError|AbortError|NetworkingError|RequestTimeout\w*|AggregateError)$/;
const FULL = /^(InsufficientStorage|StorageFull|QuotaExceeded|XMinioStorageFull|XMinioAdminBucketQuotaExceeded)$/;
const DENIED =
  /^(AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|TokenRefreshRequired)$/;
const NO_CREDENTIALS = /^(CredentialsProviderError|TokenProviderError|ProviderError)$/;

/**
 * The coded error of a failed request.
 *
 * @param doing what was tried, for the message: `read v1/…`.
 * @param secrets texts that must not stand in the message, e.g. the access key's id.
 */
export function s3Error(
  error: unknown,
  doing: string,
  location: string,
  secrets: readonly (string | undefined)[] = [],
): OrangeboxError {
  if (error instanceof OrangeboxError) return error;
  const failure = s3Failure(error);
  const said = clean(failure.message, secrets);
  const answer = failure.status === undefined ? failure.name : `${failure.status} ${failure.name}`;
  const message = `could not ${doing} in ${location}: ${inWords(failure, said)}`;
  // The SDK's own error holds the signed request: it goes no further than this.
  const cause = new Error(`${answer}: ${said}`);
  const { code, hint } = classify(failure);
  return new OrangeboxError(code, message, { hint, cause });
}

/** Status, name and text of a failure, each said once; an answer without a body has neither name nor text. */
function inWords({ name, status }: S3Failure, said: string): string {
  const isKnown = (text: string): boolean => text !== '' && !/^Unknown(?:Error)?$/.test(text);
  const words = [...(isKnown(name) && !said.includes(name) ? [name] : []), ...(isKnown(said) ? [said] : [])].join(', ');
  if (status === undefined) return words || name;
  return words === '' ? `status ${status}` : `${status} ${words}`;
}

function classify({ name, status }: S3Failure): { code: `OBX_${string}`; hint: string } {
  if (NO_CREDENTIALS.test(name)) {
    return {
      code: 'OBX_STORE_DENIED',
      hint: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE',
    };
  }
  if (name === 'NoSuchBucket' || (status === 404 && name !== 'NoSuchKey')) {
    return {
      code: 'OBX_STORE_NOT_FOUND',
      hint: 'make the bucket with: orangebox bucket init, or check its name and AWS_ENDPOINT_URL_S3',
    };
  }
  if (status === 507 || FULL.test(name)) {
    return { code: 'OBX_STORE_FULL', hint: 'the store has no space left: free some, or let lifecycle rules do it' };
  }
  if (status === 401 || status === 403 || DENIED.test(name)) {
    return {
      code: 'OBX_STORE_DENIED',
      hint: 'check the credentials and what they may do: orangebox bucket init prints the policies that are needed',
    };
  }
  if (status === undefined ? NETWORK.test(name) : status >= 500 || status === 429 || status === 408) {
    return { code: 'OBX_STORE_UNREACHABLE', hint: 'check AWS_ENDPOINT_URL_S3 and that the store runs' };
  }
  if (status === 301 || status === 307 || name === 'PermanentRedirect' || name === 'AuthorizationHeaderMalformed') {
    return { code: 'OBX_STORE_FAILED', hint: 'the bucket is of another region: set AWS_REGION' };
  }
  return { code: 'OBX_STORE_FAILED', hint: 'see what the store answered' };
}

/** One line of bounded length without control characters and without the given texts. */
function clean(text: string, secrets: readonly (string | undefined)[]): string {
  let out = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, ' ').trim();
  for (const secret of secrets) if (secret !== undefined && secret !== '') out = without(out, secret);
  out = out.replace(/\/\/[^/@\s]*@/g, '//…@');
  return out.length > 200 ? `${out.slice(0, 199)}…` : out;
}

/** A shorter one may be part of any word: `me` of `method`. */
const SURE_LENGTH = 8;

/** The text without a secret; a short one is taken out only where it stands alone. */
function without(text: string, secret: string): string {
  if (secret.length >= SURE_LENGTH) return text.replaceAll(secret, '…');
  const word = secret.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${word}(?![\\p{L}\\p{N}])`, 'gu'), '…');
}
