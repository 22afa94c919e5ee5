/**
 * Message content as span attributes, in the shapes of the conventions' JSON schemas
 * (`gen-ai-input-messages.json`, `gen-ai-output-messages.json`, `gen-ai-system-instructions.json`).
 */
import { GEN_AI, type Message, type ToolCall } from '@orangebox/schema';
import type { SpanAttributes } from '../spans.ts';
import type { CallViews } from './span-content.ts';

type Part =
  | { type: 'text' | 'reasoning'; content: string }
  | { type: 'tool_call'; id?: string; name: string; arguments: unknown }
  | { type: 'tool_call_response'; id?: string; response: unknown }
  | { type: string; [extra: string]: unknown };

/** `gen_ai.input.messages`, `gen_ai.output.messages`, system instructions and tool definitions as JSON text. */
export function contentAttributes({ request, response }: CallViews): SpanAttributes {
  const isInstruction = (m: Message): boolean => m.role === 'system' || m.role === 'developer';
  const instructions = request.messages.filter(isInstruction).flatMap(partsOf);
  const input = request.messages.filter((m) => !isInstruction(m)).map((m) => ({ role: m.role, parts: partsOf(m) }));
  const output = response.choices.map((choice) => ({
    role: choice.message.role,
    parts: partsOf(choice.message),
    ...(choice.finishReason === undefined ? {} : { finish_reason: choice.finishReason }),
  }));
  return {
    ...json(GEN_AI.systemInstructions, instructions),
    ...json(GEN_AI.inputMessages, input),
    ...json(GEN_AI.outputMessages, output),
    ...json(GEN_AI.toolDefinitions, request.tools ?? []),
  };
}

function json(name: string, value: unknown[]): SpanAttributes {
  return value.length > 0 ? { [name]: JSON.stringify(value) } : {};
}

function partsOf(message: Message): Part[] {
  const parts: Part[] = [];
  if (message.reasoning !== undefined) parts.push({ type: 'reasoning', content: message.reasoning });
  const result = message.toolResult;
  if (result) {
    parts.push({ type: 'tool_call_response', ...idOf(result.callId), response: parsed(result.content) });
  } else if (message.text !== undefined) {
    parts.push({ type: 'text', content: message.text });
  }
  if (message.refusal !== undefined) parts.push({ type: 'text', content: message.refusal });
  for (const call of message.toolCalls ?? []) parts.push(toolCallPart(call));
  for (const { type, name, sizeBytes } of message.attachments ?? []) {
    parts.push({
      type,
      ...(name === undefined ? {} : { name }),
      ...(sizeBytes === undefined ? {} : { size: sizeBytes }),
    });
  }
  return parts;
}

function toolCallPart(call: ToolCall): Part {
  return { type: 'tool_call', ...idOf(call.id), name: call.name, arguments: parsed(call.arguments) };
}

function idOf(id: string | undefined): { id?: string } {
  return id === undefined ? {} : { id };
}

/** Arguments and results are objects in the conventions where they are JSON, else the text as it is. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
