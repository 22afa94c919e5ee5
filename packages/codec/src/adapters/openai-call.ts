/** What the calls of all OpenAI APIs have in common. */
import type { CallView } from '@orangebox/schema';
import type { AdapterInput } from './input.ts';
import { filledOf } from './json.ts';
import { readParameters } from './parameters.ts';
import { providerOf } from './provider.ts';

/** The call of an API. `apart`: members of the request that are shown outside of the parameters. */
export function openAiCall(
  input: AdapterInput,
  { api, operation, apart }: { api: string; operation: string; apart: ReadonlySet<string> },
): CallView {
  const body = input.request;
  const requestModel = filledOf(body?.['model']) ?? deploymentOf(input.path);
  return {
    operation,
    provider: providerOf(input.host, input.path, 'openai'),
    api,
    ...(requestModel === undefined ? {} : { requestModel }),
    stream: body?.['stream'] === true,
    parameters: readParameters(body, apart),
  };
}

/** The deployment in an Azure path; there it stands for the model. */
function deploymentOf(path: string): string | undefined {
  const found = /\/(?:deployments|engines)\/([^/]+)\//.exec(path)?.[1];
  return found === undefined ? undefined : decodeSegment(found);
}

/** A path segment without percent encoding; as it stands where that is broken. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
