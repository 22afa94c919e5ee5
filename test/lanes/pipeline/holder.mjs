/** Starts Jaeger, says where it is, and waits to be killed. */
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module } = await runnerImport(fileURLToPath(new URL('servers/jaeger.ts', import.meta.url)));
const { url, pid, directory } = await module.startJaeger();
process.send({ url, pid, directory });
