/** Prometheus that scrapes what it is told to. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaryOf } from './binary.ts';
import { freePort } from './ports.ts';
import { type RunningServer, serverDirectory, startServer } from './process.ts';

/**
 * Starts Prometheus with one scrape a second of each target.
 * @param targets URLs of `/metrics` pages by job name
 * @returns a server whose `url` is the base of the HTTP API
 */
export async function startPrometheus(targets: Readonly<Record<string, string>>): Promise<RunningServer> {
  const directory = serverDirectory('prometheus');
  const url = `http://127.0.0.1:${await freePort()}`;
  const jobs = Object.entries(targets).map(([job, target]) => {
    const { host, pathname } = new URL(target);
    return { job_name: job, metrics_path: pathname, static_configs: [{ targets: [host] }] };
  });
  // JSON is YAML.
  const config = { global: { scrape_interval: '1s', evaluation_interval: '1s' }, scrape_configs: jobs };
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config));
  return startServer({
    name: 'prometheus',
    directory,
    command: binaryOf('prometheus'),
    args: [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=${new URL(url).host}`,
    ],
    url,
    readyUrl: `${url}/-/ready`,
  });
}
