/** Which credential may go where. A recording never decides that: the hosts are fixed here. */

/** A provider whose own hosts are known. */
export interface Provider {
  name: string;
  /** Hosts that only the provider can answer for. Never a suffix under which others may have names. */
  hosts: readonly string[];
  /** Environment variables with its credential, the first that is set counts. */
  variables: readonly string[];
  header: 'authorization' | 'x-api-key' | 'x-goog-api-key' | 'api-key';
}

const bearer = (name: string, hosts: readonly string[], ...variables: string[]): Provider => ({
  name,
  hosts,
  variables,
  header: 'authorization',
});

const PROVIDERS: readonly Provider[] = [
  bearer('openai', ['api.openai.com', 'eu.api.openai.com', 'us.api.openai.com'], 'OPENAI_API_KEY'),
  { name: 'anthropic', hosts: ['api.anthropic.com'], variables: ['ANTHROPIC_API_KEY'], header: 'x-api-key' },
  {
    name: 'gemini',
    hosts: ['generativelanguage.googleapis.com'],
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    header: 'x-goog-api-key',
  },
  bearer('mistral', ['api.mistral.ai'], 'MISTRAL_API_KEY'),
  bearer('groq', ['api.groq.com'], 'GROQ_API_KEY'),
  bearer('deepseek', ['api.deepseek.com'], 'DEEPSEEK_API_KEY'),
  bearer('xai', ['api.x.ai'], 'XAI_API_KEY'),
  bearer('openrouter', ['openrouter.ai'], 'OPENROUTER_API_KEY'),
  bearer('together', ['api.together.xyz', 'api.together.ai'], 'TOGETHER_API_KEY'),
  bearer('fireworks', ['api.fireworks.ai'], 'FIREWORKS_API_KEY'),
  bearer('cohere', ['api.cohere.com', 'api.cohere.ai'], 'CO_API_KEY', 'COHERE_API_KEY'),
  bearer('perplexity', ['api.perplexity.ai'], 'PERPLEXITY_API_KEY'),
  bearer('cerebras', ['api.cerebras.ai'], 'CEREBRAS_API_KEY'),
];

const AZURE: Omit<Provider, 'hosts'> = { name: 'azure', variables: ['AZURE_OPENAI_API_KEY'], header: 'api-key' };

type Environment = { readonly [name: string]: string | undefined };

/**
 * The provider that a recorded URL names, if its host is the provider's own: https, the usual port, the exact name.
 * Anyone can have a name under Azure's domains, so the one host that counts is that of `AZURE_OPENAI_ENDPOINT`.
 */
export function providerOf(url: URL, env: Environment): Provider | undefined {
  if (url.protocol !== 'https:' || url.port !== '') return undefined;
  const known = PROVIDERS.find((provider) => provider.hosts.includes(url.hostname));
  if (known) return known;
  const azureHost = hostOf(env['AZURE_OPENAI_ENDPOINT']);
  return azureHost !== undefined && azureHost === url.hostname ? { ...AZURE, hosts: [azureHost] } : undefined;
}

function hostOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const url = new URL(text);
    return url.protocol === 'https:' && url.port === '' ? url.hostname : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The provider whose credential goes to an explicit base URL: the recorded host's own, else by the header that the
 * recorded request carried its credential in.
 */
export function providerForBaseUrl(recorded: URL, credentialHeaders: readonly string[], env: Environment): Provider {
  const known = providerOf(recorded, env);
  if (known) return known;
  if (credentialHeaders.includes('api-key')) return { ...AZURE, hosts: [] };
  if (credentialHeaders.includes('x-goog-api-key')) return PROVIDERS[2] as Provider;
  if (credentialHeaders.includes('x-api-key')) return PROVIDERS[1] as Provider;
  return PROVIDERS[0] as Provider;
}

/** The credential of a provider in an environment. */
export function credentialOf(provider: Provider, env: Environment): { variable: string; value: string } | undefined {
  for (const variable of provider.variables) {
    const value = env[variable];
    if (value !== undefined && value !== '') return { variable, value };
  }
  return undefined;
}

/** The header and the environment variable of the credential that may go to a URL; undefined for foreign hosts. */
export function credentialFor(url: URL, env: Environment): { header: string; variable: string } | undefined {
  const provider = providerOf(url, env);
  if (!provider) return undefined;
  const variable = credentialOf(provider, env)?.variable ?? provider.variables[0];
  return variable === undefined ? undefined : { header: provider.header, variable };
}
