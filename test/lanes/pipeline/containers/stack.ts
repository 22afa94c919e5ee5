/**
 * Services of `deploy/compose.yaml` in containers, as that file has them: command, environment, user, hardening, mounts, networks. Only
 * the images are local ones, and what belongs to the published image alone (its entry point, its data folder) is made up for.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  GenericContainer,
  getContainerRuntimeClient,
  Network,
  type StartedNetwork,
  type StartedTestContainer,
  Wait,
} from 'testcontainers';
import {
  type ComposeService,
  interpolate,
  readCompose,
  readEnvFile,
  deployText,
} from '../../../deploy/compose-file.ts';
import { inRepository } from '../../../helpers/repository.ts';
import { nodeImage, serverImage, stageContext } from './images.ts';

/** A service that runs. */
export type StartedService = StartedTestContainer;

/** The part of the compose file that runs. */
export interface Stack {
  /** Starts a service once all that it depends on is ready, and waits until it is ready itself. */
  start(name: string, env?: Record<string, string>): Promise<StartedService>;
  /** Runs a service that ends by itself, and gives what it printed. */
  run(name: string, env?: Record<string, string>): Promise<string>;
  /** Address of a published port of a service that runs, on this machine. */
  address(name: string, port: number): string;
  /** Which of these names a service that runs (with Node.js in its image) can find. */
  resolves(name: string, others: readonly string[]): Promise<string[]>;
  /** Values of the `.env` file in use. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends all. */
  stop(): Promise<void>;
}

const SERVERS = { collector: 'otelcol', store: 'weed', jaeger: 'jaeger' } as const;

/** What is asked, and where, to know that a server from scratch is ready: its image has no client that could ask. */
const READY: Record<string, [path: string, port: number]> = {
  collector: ['/', 13133],
  store: ['/healthz', 8333],
  jaeger: ['/status', 13133],
};

class HardenedContainer extends GenericContainer {
  /** What the compose file says and testcontainers has no method for. */
  readOnly(): this {
    this.hostConfig.ReadonlyRootfs = true;
    return this;
  }
}

/** Builds our image with the shipped Dockerfile, on a base with this machine's Node.js. */
export async function buildImage(tag: string): Promise<void> {
  const context = stageContext();
  try {
    await GenericContainer.fromDockerfile(context, 'deploy/Dockerfile')
      .withBuildArgs({ BASE_IMAGE: nodeImage() })
      .build(tag, { deleteOnExit: false });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

/** Prepares images and networks. */
export async function createStack(tag: string): Promise<Stack> {
  const { services, networks: names } = readCompose();
  const env = readEnvFile(deployText('.env.example'));
  const networks = new Map<string, StartedNetwork>();
  for (const name of Object.keys(names))
    networks.set(name, await new Network({ nextUuid: () => networkName(name) }).start());
  const running = new Map<string, StartedService>();

  const prepare = (name: string, more: Record<string, string>): HardenedContainer => {
    const service = services[name];
    if (!service) throw new Error(`the compose file has no service ${name}`);
    const server = SERVERS[name as keyof typeof SERVERS];
    const container = new HardenedContainer(server ? serverImage(server) : tag)
      .readOnly()
      .withLabels({ 'orangebox.lane.pid': String(process.pid) })
      .withDroppedCapabilities('ALL')
      .withSecurityOpt('no-new-privileges:true')
      .withEnvironment({ ...filled(service.environment ?? {}, env), ...more })
      .withTmpFs(tmpfsOf(service))
      .withBindMounts(mountsOf(service))
      .withNetworkAliases(name);
    if (service.user) container.withUser(service.user);
    if (service.entrypoint) container.withEntrypoint(service.entrypoint);
    const command = (service.command ?? []).map((word) => interpolate(word, env));
    if (command.length > 0) container.withCommand(name === 'store' ? [...storeDefaults(command)] : command);
    const [first] = service.networks;
    return container.withNetwork(networks.get(first ?? '') as StartedNetwork);
  };

  /** A container is made on one network; the others it is let into before anything runs that needs them. */
  const connect = async (name: string, container: StartedService): Promise<void> => {
    const client = await getContainerRuntimeClient();
    for (const other of services[name]?.networks.slice(1) ?? []) {
      const network = client.network.getById(networks.get(other)?.getId() ?? '');
      await network.connect({ Container: container.getId(), EndpointConfig: { Aliases: [name] } });
    }
  };

  return {
    env,
    async start(name, more = {}) {
      const container = prepare(name, more);
      const ready = READY[name];
      const ports = (services[name]?.ports ?? []).map((port) => Number(port.split(':')[2]));
      if (ready) {
        container.withExposedPorts(...new Set([...ports, ready[1]])).withWaitStrategy(Wait.forHttp(...ready));
      } else {
        const test = services[name]?.healthcheck?.test ?? [];
        container
          .withHealthCheck({ test: test as ['CMD', ...string[]], interval: 500, timeout: 5000, retries: 60 })
          .withWaitStrategy(Wait.forHealthCheck());
      }
      const started = await container.start();
      running.set(name, started);
      await connect(name, started);
      return started;
    },
    async run(name, more = {}) {
      let output = '';
      const container = prepare(name, more)
        .withWaitStrategy(Wait.forOneShotStartup())
        .withLogConsumer((stream) => stream.on('data', (text: Buffer | string) => (output += String(text))));
      try {
        const started = await container.start();
        running.set(name, started);
        return await logOf(started);
      } catch (error) {
        throw new Error(`${name} failed: ${(error as Error).message}\n${output}`, { cause: error });
      }
    },
    address: (name, port) => `http://127.0.0.1:${running.get(name)?.getMappedPort(port)}`,
    async resolves(name, others) {
      const script = `Promise.all(${JSON.stringify(others)}.map((n) => require('node:dns/promises').lookup(n).then(() => [n], () => [])))
        .then((found) => console.log(JSON.stringify(found.flat())))`;
      const result = await running.get(name)?.exec(['node', '-e', script]);
      return JSON.parse(result?.output ?? '[]') as string[];
    },
    async stop() {
      // What failed on its way is gone already; whatever should stay is swept up by the engine's set-up.
      await Promise.allSettled([...running.values()].map((container) => container.stop({ timeout: 1000 })));
      await Promise.allSettled([...networks.values()].map((network) => network.stop()));
    },
  };
}

/** All that a container has printed so far. */
export async function logOf(container: StartedService): Promise<string> {
  const { container: containers } = await getContainerRuntimeClient();
  const handle = containers.getById(container.getId());
  const bytes = (await handle.logs({ stdout: true, stderr: true, follow: false })) as unknown as Buffer;
  // Frames of eight bytes: the stream, and how long the text is.
  let text = '';
  for (let at = 0; at + 8 <= bytes.length; at += 8 + bytes.readUInt32BE(at + 4)) {
    text += bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at + 4)).toString('utf8');
  }
  return text;
}

const networkName = (name: string): string => `orangebox-lane-${name}-${process.pid}`;

const filled = (values: Record<string, string>, env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, interpolate(value, env)]));

/** The published image's entry point adds these before the words of `server`. */
function storeDefaults([command = '', ...rest]: string[]): string[] {
  return [command, '-dir=/data', '-volume.max=0', '-master.volumeSizeLimitMB=1024', ...rest];
}

/** Temporary file systems, and one for each named volume: volumes would belong to root, for there is no image to take it from. */
function tmpfsOf({ tmpfs = [], volumes = [], user }: ComposeService): Record<string, string> {
  const [uid, gid] = (user ?? '1000:1000').split(':');
  const own = volumes.flatMap((volume) => {
    const [from = '', to = ''] = volume.split(':');
    return from.startsWith('.') ? [] : [[to, `uid=${uid},gid=${gid},mode=0700`]];
  });
  const written = tmpfs.map((entry) => {
    const [path = '', options = 'rw'] = entry.split(':');
    return [path, options];
  });
  return Object.fromEntries([...own, ...written]) as Record<string, string>;
}

function mountsOf({ volumes = [] }: ComposeService): { source: string; target: string; mode: 'ro' }[] {
  return volumes.flatMap((volume) => {
    const [from = '', target = ''] = volume.split(':');
    return from.startsWith('.') ? [{ source: join(inRepository('deploy'), from), target, mode: 'ro' as const }] : [];
  });
}
