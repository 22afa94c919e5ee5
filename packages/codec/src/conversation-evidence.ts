/** Small facts that tell alike calls apart. */
import type { RequestView, ResponseView } from '@orangebox/schema';
import { filledOf, isObject, objectsOf } from './adapters/json.ts';
import { systemText } from './conversation-atoms.ts';

/** System prompt and tools of a request as one text. */
export function settingText(request: RequestView): string {
  return `${systemText(request.messages)}\n${toolsText(request)}`;
}

function toolsText(request: RequestView): string {
  try {
    return JSON.stringify(request.tools ?? []);
  } catch {
    // Nested too deep: hostile, and no help in telling calls apart.
    return '';
  }
}

/** Ids of an answer's items, which clients of the responses API send back. */
export function answerItemIds(response: ResponseView): string[] {
  const output = isObject(response.final) ? response.final['output'] : undefined;
  return objectsOf(output).flatMap((item) => filledOf(item['id']) ?? []);
}

/** Ids of items that the view keeps whole (reasoning, tools that ran at the provider). */
export function requestItemIds(request: RequestView): Set<string> {
  const ids = new Set<string>();
  for (const { raw } of request.messages) {
    const id = isObject(raw) ? filledOf(raw['id']) : undefined;
    if (id !== undefined) ids.add(id);
  }
  return ids;
}

/** Whether call ids of a request begin with a response's id: clients that make them unique put it there. */
export function quotes(request: RequestView, responseId: string): boolean {
  return request.messages.some((message) => message.toolCalls?.some((call) => call.id?.startsWith(responseId)));
}

/** Whether an id is not one of those that servers give again and again (`call_0`, `3`). */
export function isUniqueId(id: string | undefined): id is string {
  return id !== undefined && id.length >= 10 && !/^[a-z]*_?\d{0,8}$/i.test(id);
}
