/** Messages as a row of atoms that does not depend on how a client cuts them into messages. */
import type { Message } from '@orangebox/schema';
import { canonicalJson } from './canonical-json.ts';
import { parseJson } from './adapters/json.ts';

/** One thing that was said. */
export interface Atom {
  text: string;
  /** The model said it. */
  byModel: boolean;
}

/** The atoms of messages; system messages, which programs rewrite between calls, and reasoning are left out. */
export function chatAtoms(messages: readonly Message[]): Atom[] {
  const atoms: Atom[] = [];
  for (const message of messages) addAtoms(atoms, message);
  return atoms;
}

function addAtoms(atoms: Atom[], message: Message): void {
  const role = message.role === 'model' ? 'assistant' : message.role;
  if (role === 'system' || role === 'developer') return;
  const byModel = role === 'assistant';
  const said = (message.text ?? '') + (message.refusal ?? '');
  if (said.trim() !== '') atoms.push({ text: `${role} ${JSON.stringify(said.trim())}`, byModel });
  for (const file of message.attachments ?? []) {
    atoms.push({ text: `${role} file ${file.type} ${file.sizeBytes ?? ''} ${file.name ?? ''}`, byModel });
  }
  for (const call of message.toolCalls ?? []) {
    atoms.push({ text: `call ${call.id ?? ''} ${call.name} ${canonicalArguments(call.arguments)}`, byModel: true });
  }
  if (message.toolResult) {
    const { callId, content } = message.toolResult;
    atoms.push({ text: `result ${callId ?? ''} ${JSON.stringify(content)}`, byModel: false });
  }
}

/** Arguments without the accidents of serialisation. */
export function canonicalArguments(text: string): string {
  const value = parseJson(text);
  if (value === undefined) return text.trim();
  try {
    return canonicalJson(value);
  } catch {
    return text;
  }
}
