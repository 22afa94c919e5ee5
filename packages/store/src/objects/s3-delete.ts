/** Deleting objects of an S3 store by lists of their keys, or one by one where the store takes no lists. */
import type { S3Access } from './s3-client.ts';
import { s3Failure } from './s3-errors.ts';

/** Most keys in one deletion request. */
export const DELETE_BATCH = 1000;

/** Deletes keys with one request; false where the store has none for that. */
export async function deleteTogether(
  { sdk, client }: S3Access,
  bucket: string,
  keys: readonly string[],
): Promise<boolean> {
  const Objects = keys.map((Key) => ({ Key }));
  try {
    const answer = await client.send(
      new sdk.DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
    );
    const failed = answer.Errors?.find((one) => one.Code !== 'NoSuchKey');
    if (failed) {
      const status = failed.Code === 'AccessDenied' ? 403 : 500;
      throw Object.assign(new Error(failed.Message ?? ''), {
        name: failed.Code ?? 'Error',
        $metadata: { httpStatusCode: status },
      });
    }
    return true;
  } catch (error) {
    const { status = 0, name } = s3Failure(error);
    if (status !== 501 && status !== 405 && name !== 'NotImplemented') throw error;
    return false;
  }
}

/** Deletes keys one after the other. */
export async function deleteEach({ sdk, client }: S3Access, bucket: string, keys: readonly string[]): Promise<void> {
  for (const Key of keys) await client.send(new sdk.DeleteObjectCommand({ Bucket: bucket, Key }));
}
