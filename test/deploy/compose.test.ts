/** The compose file without Compose: its form, what it refers to, and that it is as closed as the documentation says. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { inRepository } from '../helpers/repository.ts';
import { deployText, interpolate, interpolationsOf, readCompose, readEnvFile } from './compose-file.ts';
import { composeSchema } from './compose-schema.ts';

const source = deployText('compose.yaml');
const compose = readCompose();
const services = Object.entries(compose.services);
const example = readEnvFile(deployText('.env.example'));
const docs = readFileSync(inRepository('docs/deploy.md'), 'utf8');

describe('deploy/compose.yaml', () => {
  it('has only fields of the Compose specification, in their form', () => {
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(composeSchema);
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
  });

  it('refers to services, networks, volumes and files that are there', () => {
    for (const [name, service] of services) {
      for (const other of Object.keys(service.depends_on ?? {})) expect(compose.services, name).toHaveProperty(other);
      for (const network of service.networks) expect(compose.networks, name).toHaveProperty(network);
      for (const volume of service.volumes ?? []) {
        const [from = ''] = volume.split(':');
        if (from.startsWith('.')) expect(existsSync(join(inRepository('deploy'), from)), `${name}: ${from}`).toBe(true);
        else expect(compose.volumes, name).toHaveProperty(from);
      }
      if (service.build)
        expect(existsSync(join(inRepository('deploy'), service.build.context, service.build.dockerfile))).toBe(true);
    }
  });

  it('lets a service wait only for what runs without a profile, or needs it not', () => {
    for (const [name, service] of services) {
      for (const [other, { required }] of Object.entries(service.depends_on ?? {})) {
        const profile = compose.services[other]?.profiles?.[0];
        if (profile !== undefined && profile !== service.profiles?.[0])
          expect(required, `${name} -> ${other}`).toBe(false);
      }
    }
  });

  it('runs nobody as root, but for the one image that has no other user', () => {
    const roots = services.filter(([, service]) => service.user?.startsWith('0:'));
    expect(roots.map(([name]) => name)).toEqual(['minio']);
    // Without a user here, the image's own must not be root: true of ours (see the Dockerfile).
    for (const [name, service] of services) expect(service.user ?? service.build, name).toBeDefined();
    expect(deployText('Dockerfile')).toMatch(/^USER 1000:1000$/m);
  });

  it('pins every image by its version, and lets each be replaced', () => {
    for (const [name, { image }] of services) {
      const [variable] = interpolationsOf(image);
      expect(variable?.fallback, name).toMatch(/^[a-z0-9./-]+:(v?\d+(\.\d+)+|RELEASE\.[\dTZ-]+)$/);
    }
  });

  it('has the versions that the documentation lists', () => {
    for (const image of new Set(services.map(([, service]) => interpolate(service.image))))
      expect(docs).toContain(`\`${image}\``);
  });

  it('publishes only what the documentation lists', () => {
    const published = services.flatMap(([, service]) => service.ports ?? []).map((port) => port.split(':')[1]);
    for (const port of published) expect(docs).toMatch(new RegExp(`127\\.0\\.0\\.1:${port}\\b`));
    expect(new Set(published).size).toBe(published.length);
  });

  it('knows how to ask each service for its health, where its image can ask', () => {
    const unasked = services.filter(([, { healthcheck }]) => healthcheck === undefined || healthcheck.disable === true);
    // The collector and Tempo have no shell; the example and the one-shot serve nothing.
    expect(unasked.map(([name]) => name).sort()).toEqual(['bucket-init', 'collector', 'example-agent', 'tempo']);
  });

  it('takes every secret from the environment, and the example file has all that must be set', () => {
    const needed = new Set(interpolationsOf(source).flatMap(({ name, required }) => (required ? [name] : [])));
    expect([...needed].sort()).toEqual([
      'ORANGEBOX_ARCHIVE_TOKEN',
      'ORANGEBOX_S3_ACCESS_KEY',
      'ORANGEBOX_S3_ENCRYPTION_KEY',
      'ORANGEBOX_S3_SECRET_KEY',
    ]);
    for (const name of needed) expect(example[name], name).toBeTruthy();
    for (const [name, service] of services) {
      for (const [variable, value] of Object.entries(service.environment ?? {})) {
        if (!/TOKEN|SECRET|PASSWORD|_KEY$|ACCESS_KEY/.test(variable) || value === 'sk-example-not-a-real-key') continue;
        expect(interpolationsOf(value), `${name}: ${variable}`).toHaveLength(1);
      }
    }
  });

  it('offers nothing in the example file that it does not read', () => {
    const read = new Set(interpolationsOf(source).map(({ name }) => name));
    const offered = Object.keys(readEnvFile(deployText('.env.example'), true));
    expect(offered.filter((name) => !read.has(name) && name !== 'COMPOSE_PROFILES')).toEqual([]);
  });

  it('keeps the file with secrets out of git', () => {
    expect(deployText('.gitignore').split('\n')).toContain('.env');
  });

  it('sets only variables that the shipped collector configuration reads', () => {
    const configuration = readFileSync(inRepository('collector-config/collector.yaml'), 'utf8');
    const known = new Set([...configuration.matchAll(/\$\{env:(\w+)/g)].map(([, name]) => name));
    for (const name of Object.keys(compose.services['collector']?.environment ?? {}))
      expect(known, name).toContain(name);
  });

  it('sends spans to Jaeger and Tempo together in the profile that has both', () => {
    const profile = readEnvFile(deployText('.env.example'), true);
    const exporters = parse(profile['ORANGEBOX_TRACE_EXPORTERS'] ?? '') as string[];
    const configuration = parse(readFileSync(inRepository('collector-config/collector.yaml'), 'utf8')) as {
      exporters: Record<string, unknown>;
    };
    expect(exporters).toHaveLength(2);
    for (const name of exporters) expect(configuration.exporters).toHaveProperty([name]);
  });

  it('adds nothing to the recorded service but the preload and its environment', () => {
    const agent = compose.services['example-agent'];
    expect(agent?.entrypoint).toEqual(['node', '--require', 'orangebox/register', '/example/agent.mjs']);
    expect(deployText('example-agent/agent.mjs')).not.toMatch(/from '(?!node:)/);
  });
});
