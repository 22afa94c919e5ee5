import type { RecordedExchange } from './load.mjs';

/** A tool result, and the exchange whose answer asked for it. */
export interface RecordedResult {
  callId: string;
  n: number;
  askedBy: number;
}

/** One recorded session of several calls. */
export interface RecordedSession {
  id: string;
  calls: RecordedExchange[];
  linked: boolean;
  results: RecordedResult[];
}

/** The sessions to send: those of several calls to chat completions or responses. */
export function expectedSessions(exchanges: RecordedExchange[]): RecordedSession[];
/** Gives masked ids that stand in several sessions a form of their own per session. Changes the exchanges. */
export function unmaskIds(sessions: RecordedSession[]): { id: string; sessions: string[] }[];
/** Session after session, or `width` sessions at a time, call by call. */
export function sendingOrder(sessions: RecordedSession[], width?: number): RecordedExchange[];
/** Compares what was made of the calls with what is expected. */
export function checkSessions(
  sessions: RecordedSession[],
  sessionOf: Map<number, string>,
  joined: RecordedResult[],
): {
  linkedSessions: number;
  togetherRight: number;
  tornApart: string[];
  mergedWrongly: { made: string; sessions: string[] }[];
  /** Sessions that the source cut out of one conversation. */
  mergedSinceOne: { made: string; sessions: string[] }[];
  toolResults: number;
  toolResultsJoined: number;
  toolResultsMissed: RecordedResult[];
};
