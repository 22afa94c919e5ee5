/** What can be made ready; `promtool` comes with Prometheus. */
export type ServerName = 'otelcol' | 'weed' | 'jaeger' | 'prometheus' | 'promtool';
/** Where the binary of a server is or would be; undefined where it cannot be made: no Go, or no package of Prometheus. */
export function serverBinary(name: ServerName): string | undefined;
export const serverNames: ServerName[];
