/** Who runs a tool. */
import type { ToolCall } from '@orangebox/schema';

/** Tool calls that the program runs; all others run at the provider. */
const CLIENT_CALLS = new Set([
  'function',
  'custom',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
]);

/** Whether a tool call waits for the program to run it. */
export function isClientCall(call: ToolCall): boolean {
  return call.type === undefined || CLIENT_CALLS.has(call.type);
}
