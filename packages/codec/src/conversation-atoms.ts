/**
 * Messages as a row of atoms: what was said, by whom, without the accidents of how a client puts it when it sends it
 * back. Equal are: absent and null members, a string and its one part, one message and several items, other member
 * order, arguments serialised anew, `<think>` blocks and reasoning kept or dropped, items of tools that ran at the
 * provider kept, dropped or moved, ids and status added to items.
 */
import type { Message, ToolCall } from '@orangebox/schema';
import { parseJson } from './adapters/json.ts';
import { INPUT_ROLE } from './adapters/openai-embeddings.ts';
import { canonicalJson } from './canonical-json.ts';
import { isClientCall } from './client-call.ts';

/** One thing that was said: what is hashed of it is its text, and the JSON of what was said after that. */
export interface Atom {
  text: string;
  said?: string;
  /** The model said it. */
  byModel: boolean;
  /** Of a tool call: its id, and the atom's text without it. */
  callId?: string;
  withoutId?: string;
}

/** The atoms of messages. System messages are left out: programs rewrite them between the calls of one conversation. */
export function chatAtoms(messages: readonly Message[]): Atom[] {
  const atoms: Atom[] = [];
  for (const message of messages) addAtoms(atoms, message);
  return atoms;
}

/** The system messages, joined. */
export function systemText(messages: readonly Message[]): string {
  return messages
    .filter((message) => isSystem(message.role))
    .map((message) => message.text ?? '')
    .join('\n');
}

function isSystem(role: string): boolean {
  return role === 'system' || role === 'developer';
}

function addAtoms(atoms: Atom[], message: Message): void {
  const role = message.role === 'model' ? 'assistant' : message.role;
  if (isSystem(role) || role === INPUT_ROLE) return;
  const byModel = role === 'assistant';
  const text = (message.text ?? '') + (message.refusal ?? '');
  const said = byModel ? withoutThinking(text) : text.trim();
  if (said !== '') atoms.push({ text: `${role} `, said, byModel });
  for (const file of message.attachments ?? []) {
    atoms.push({ text: `${role} file ${file.type} ${file.sizeBytes ?? ''} ${file.name ?? ''}`, byModel });
  }
  for (const call of message.toolCalls ?? []) if (isClientCall(call)) atoms.push(callAtom(call));
  const result = message.toolResult;
  if (result && isClientResult(message)) {
    atoms.push({ text: `result ${result.callId ?? ''} `, said: result.content, byModel: false });
  }
}

function callAtom(call: ToolCall): Atom {
  const withoutId = `call ${call.name} ${canonicalArguments(call.arguments)}`;
  if (call.id === undefined) return { text: withoutId, byModel: true, withoutId };
  return { text: `${withoutId} ${call.id}`, byModel: true, callId: call.id, withoutId };
}

/** Outputs without a call id are those of tools that ran at the provider. */
function isClientResult(message: Message): boolean {
  return message.raw === undefined || message.toolResult?.callId !== undefined;
}

/** Some clients put each block of reasoning before the text, in tags. */
function withoutThinking(text: string): string {
  let rest = text.trim();
  while (rest.startsWith('<think>')) {
    const end = rest.indexOf('</think>');
    rest = end < 0 ? '' : rest.slice(end + 8).trimStart();
  }
  return rest;
}

/** Arguments without the accidents of serialisation. */
export function canonicalArguments(text: string): string {
  if (text.trim() === '') return '{}';
  const value = parseJson(text);
  if (value === undefined) return text.trim();
  try {
    return canonicalJson(value);
  } catch {
    return text;
  }
}
