import type { Described } from './described.ts';
import type { AdapterInput } from './input.ts';
import { filledOf, isObject } from './json.ts';
import { emptyResponse, errorOf } from './message.ts';
import { providerOf } from './provider.ts';
export function describeGeneric(input: AdapterInput): Described {
  const response = emptyResponse();
  const json = input.responseJson;
  if (isObject(json)) {
    response.final = json;
    const error = errorOf(json);
    if (error && (input.status ?? 0) >= 400) response.error = error;
  }
  const model = filledOf(input.request?.['model']);
  return {
    call: {
      operation: 'chat',
      provider: providerOf(input.host, input.path, 'unknown'),
      api: 'generic',
      ...(model === undefined ? {} : { requestModel: model }),
      stream: input.request?.['stream'] === true,
      parameters: {},
    },
    request: { messages: [] },
    response,
  };
}
