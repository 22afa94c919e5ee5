/** Errors of a connection that never came to be, as Node's sockets report them. */

const CONNECT_SYSCALLS: ReadonlySet<string> = new Set(['connect', 'getaddrinfo', 'bind']);
const TLS_CODE =
  /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA|PATH_LENGTH_|CRL_|ERROR_IN_C|INVALID_PURPOSE)/;

/** Whether an error says that no connection was made (refused, unknown host, TLS failure). */
export function isConnectError(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { syscall, code, errors, message } = error as {
    syscall?: unknown;
    code?: unknown;
    errors?: unknown;
    message?: unknown;
  };
  if (typeof syscall === 'string' && CONNECT_SYSCALLS.has(syscall)) return true;
  if (typeof code === 'string' && TLS_CODE.test(code)) return true;
  // Several addresses were tried.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isConnectError);
  return typeof message === 'string' && message.startsWith('Client network socket disconnected');
}
