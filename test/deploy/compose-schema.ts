/**
 * What `deploy/compose.yaml` may hold: the part of the Compose specification that it uses, and nothing else, so that a misspelt or
 * unsupported field is found without Compose at hand. JSON Schema.
 */
const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const words = { type: 'array', items: text, minItems: 1 } as const;
const closed = (properties: Record<string, object>, required: readonly string[] = []): object => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required: [...required],
});
const duration = { type: 'string', pattern: '^(\\d+(ms|s|m|h))+$' } as const;

const healthcheck = closed({
  disable: { const: true },
  test: { type: 'array', items: text, minItems: 2, prefixItems: [{ enum: ['CMD'] }] },
  interval: duration,
  timeout: duration,
  start_period: duration,
  retries: { type: 'integer', minimum: 1 },
});

const dependency = closed(
  {
    condition: { enum: ['service_started', 'service_healthy', 'service_completed_successfully'] },
    required: { type: 'boolean' },
  },
  ['condition'],
);

const service = closed(
  {
    image: text,
    build: closed({ context: text, dockerfile: text }, ['context', 'dockerfile']),
    command: texts,
    entrypoint: words,
    user: { type: 'string', pattern: '^\\d+:\\d+$' },
    environment: { type: 'object', additionalProperties: text },
    volumes: { type: 'array', items: { type: 'string', pattern: '^[^:]+:/[^:]+(:ro)?$' } },
    tmpfs: { type: 'array', items: { type: 'string', pattern: '^/[^:]+(:[a-z]+=\\w+(,[a-z]+=\\w+)*)?$' } },
    networks: words,
    ports: { type: 'array', items: { type: 'string', pattern: '^127\\.0\\.0\\.1:\\d+:\\d+$' } },
    profiles: words,
    depends_on: { type: 'object', additionalProperties: dependency },
    healthcheck,
    restart: { type: 'string', pattern: '^(no|always|unless-stopped|on-failure(:\\d+)?)$' },
    read_only: { const: true },
    cap_drop: { const: ['ALL'] },
    security_opt: { const: ['no-new-privileges:true'] },
    logging: closed({ driver: text, options: { type: 'object', additionalProperties: text } }, ['driver']),
    stop_grace_period: duration,
    mem_limit: { type: 'string', pattern: '^\\d+m$' },
  },
  ['image', 'networks', 'read_only', 'cap_drop', 'security_opt', 'restart'],
);

/** The schema of the whole file. */
export const composeSchema: object = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'services', 'networks', 'volumes'],
  properties: {
    name: { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' },
    services: { type: 'object', additionalProperties: service },
    networks: { type: 'object', additionalProperties: closed({}) },
    volumes: { type: 'object', additionalProperties: closed({}) },
  },
  patternProperties: { '^x-': true },
};
