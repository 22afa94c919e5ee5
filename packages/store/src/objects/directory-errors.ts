/** File system errors as every bucket reports its own. */
import { OrangeboxError } from '@orangebox/schema';
import { fsCode } from '../safe-fs.ts';

/** Whether a file is not there, or what should be a folder of it is none. */
export function isAbsent(error: unknown): boolean {
  const code = fsCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** A coded error for a failed call. */
export function directoryError(error: unknown, path: string, doing: 'read' | 'write'): OrangeboxError {
  if (error instanceof OrangeboxError) return error;
  const code = fsCode(error);
  const cause = { cause: error };
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new OrangeboxError('OBX_STORE_DENIED', `no permission to ${doing} ${path} (${code})`, {
        ...cause,
        hint: 'recordings are private to the user who made them: run as that user, or change the owner',
      });
    case 'ENOSPC':
    case 'EDQUOT':
      return new OrangeboxError('OBX_STORE_FULL', `no space left to write ${path} (${code})`, {
        ...cause,
        hint: 'free some space, or move the store to a larger disk',
      });
    case 'ENOENT':
    case 'ENOTDIR':
      return new OrangeboxError('OBX_STORE_NOT_FOUND', `${path} is not there or no directory (${code})`, {
        ...cause,
        hint: 'name a directory with ORANGEBOX_STORE',
      });
    default: {
      const message = error instanceof Error ? error.message : String(error);
      return new OrangeboxError('OBX_STORE_FAILED', `could not ${doing} ${path}: ${message}`, {
        ...cause,
        hint: 'check the disk and the path',
      });
    }
  }
}

/** The error for a folder that is somewhere else. */
export function leadsOut(path: string, base: string): OrangeboxError {
  return new OrangeboxError('OBX_STORE_DENIED', `${path} leads out of ${base} by a link`, {
    hint: 'nothing of Orangebox makes links there: look who did, and remove it',
  });
}
