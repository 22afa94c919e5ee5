/** Another program in the place of this one. What starts processes beside it is closed where the platform starts them. */
import { membersOf, refusal, type RefusalHost } from './ways-out.ts';

/** Replaces it, where the platform has it. */
export function refuseExecve(host: RefusalHost): void {
  if (!('execve' in process)) return;
  membersOf(process)['execve'] = (file: unknown) => {
    host.refused(`process ${String(file)}`);
    throw refusal('starts no process', 'EPERM', 'execve');
  };
}
