/** SeaweedFS: an S3 server of one process. */
import { binaryOf } from './binary.ts';
import { withExtras } from './extras.ts';
import { freePorts } from './ports.ts';
import { type RunningServer, serverDirectory, startServer } from './process.ts';

/** An S3 server: `url` is its endpoint. */
export interface WeedServer extends RunningServer {
  /** The `AWS_*` variables that a client needs for it. */
  readonly clientEnv: Readonly<Record<string, string>>;
}

/** Options of `startWeed`. */
export interface WeedOptions {
  /** Only who signs with these is let in; without, anybody is, whatever credentials are sent. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

/** Every port that `weed mini` opens; all are moved, so that any number run side by side. */
const PORT_FLAGS = [
  's3.port',
  's3.port.grpc',
  'master.port',
  'master.port.grpc',
  'filer.port',
  'filer.port.grpc',
  'volume.port',
  'volume.port.grpc',
  'admin.port',
  'admin.port.grpc',
  'webdav.port',
];

/** Starts an S3 server. Buckets have to be made by the client; names need three characters. */
export async function startWeed(options: WeedOptions = {}): Promise<WeedServer> {
  const directory = serverDirectory('weed');
  const ports = await freePorts(PORT_FLAGS.length);
  const { accessKeyId = 'test-access-key', secretAccessKey = 'test-secret-key' } = options.credentials ?? {};
  const url = `http://127.0.0.1:${ports[0]}`;
  const server = await startServer({
    name: 'weed',
    directory,
    command: binaryOf('weed'),
    args: [
      'mini',
      `-dir=${directory}`,
      '-ip=127.0.0.1',
      '-ip.bind=127.0.0.1',
      '-master.telemetry=false',
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
      '-admin.port.legacy=0',
      `-filer.localSocket=${directory}/filer.sock`,
      `-s3.localSocket=${directory}/s3.sock`,
      ...PORT_FLAGS.map((flag, i) => `-${flag}=${ports[i]}`),
    ],
    // With keys in its environment it makes an identity of them and demands it.
    env: options.credentials ? { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } : {},
    url,
    readyUrl: `${url}/healthz`,
  });
  const clientEnv = {
    AWS_ENDPOINT_URL_S3: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
  return withExtras(server, { clientEnv });
}
