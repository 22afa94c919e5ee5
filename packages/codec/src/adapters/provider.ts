/** `gen_ai.provider.name` by protocol, with host and path as hints. */

/** Host endings whose services the conventions (or usage) give a name of its own. */
const BY_HOST: [ending: string, provider: string][] = [
  ['openai.azure.com', 'azure.ai.openai'],
  ['cognitiveservices.azure.com', 'azure.ai.openai'],
  ['services.ai.azure.com', 'azure.ai.inference'],
  ['inference.ai.azure.com', 'azure.ai.inference'],
  ['openai.com', 'openai'],
  ['anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['aiplatform.googleapis.com', 'gcp.vertex_ai'],
  ['api.aws', 'aws.bedrock'],
  ['cohere.com', 'cohere'],
  ['cohere.ai', 'cohere'],
  ['deepseek.com', 'deepseek'],
  ['groq.com', 'groq'],
  ['ml.cloud.ibm.com', 'ibm.watsonx.ai'],
  ['mistral.ai', 'mistral_ai'],
  ['moonshot.ai', 'moonshot_ai'],
  ['moonshot.cn', 'moonshot_ai'],
  ['perplexity.ai', 'perplexity'],
  ['x.ai', 'x_ai'],
  ['openrouter.ai', 'openrouter'],
  ['together.ai', 'together_ai'],
  ['together.xyz', 'together_ai'],
  ['fireworks.ai', 'fireworks_ai'],
  ['cerebras.ai', 'cerebras'],
  ['huggingface.co', 'huggingface'],
  ['ollama.com', 'ollama'],
  ['voyageai.com', 'voyage_ai'],
  ['jina.ai', 'jina_ai'],
  ['replicate.com', 'replicate'],
  ['writer.com', 'writer'],
  ['aleph-alpha.com', 'aleph_alpha'],
  ['z.ai', 'z_ai'],
  ['aliyuncs.com', 'alibaba_cloud'],
];

/** Names of path segments that gateways put before the protocol's own path. */
const BY_SEGMENT: { [segment: string]: string } = {
  groq: 'groq',
  anthropic: 'anthropic',
  mistral: 'mistral_ai',
  deepseek: 'deepseek',
  cohere: 'cohere',
  perplexity: 'perplexity',
  together: 'together_ai',
  bedrock: 'aws.bedrock',
};

/**
 * The provider's name. `protocol` is what the adapter's wire form is called after and stands where neither host nor
 * path knows better: an OpenAI-compatible server of one's own is `openai`.
 */
export function providerOf(host: string, path: string, protocol: string): string {
  if (protocol === 'openai' && /\/openai\/deployments\/[^/]+\//.test(path)) return 'azure.ai.openai';
  for (const [ending, provider] of BY_HOST) {
    if (host === ending || host.endsWith(`.${ending}`) || host.endsWith(`-${ending}`)) {
      return provider === 'azure.ai.inference' && path.includes('/openai/') ? 'azure.ai.openai' : provider;
    }
  }
  if (host.endsWith('.amazonaws.com')) {
    if (host.startsWith('bedrock')) return 'aws.bedrock';
    if (host.includes('sagemaker')) return 'aws.sagemaker';
  }
  for (const segment of path.split('/', 4)) {
    if (Object.hasOwn(BY_SEGMENT, segment)) return BY_SEGMENT[segment] as string;
  }
  return protocol;
}
