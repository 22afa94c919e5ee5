/** One recorded message. */
export interface RecordedMessage {
  headers: { [name: string]: string };
  body_text?: string | null;
  body_base64?: string;
}

/** One recorded exchange, with its number in the folder. */
export interface RecordedExchange {
  n: number;
  id: string;
  session_id: string;
  seq: number;
  session_len: number;
  provider: string;
  api: string;
  model?: string;
  stream: boolean;
  request: RecordedMessage & { method: string; origin: string; path: string };
  response: RecordedMessage & {
    status: number;
    body_kind: string;
    encoded?: { encoding: string; chunks_base64: string[] };
    chunk_sizes?: number[];
  };
  tags: string[];
}

/** Where the corpus lies if it is there. */
export function corpusDirectory(): string;
/** Whether the corpus is there. */
export function hasCorpus(): boolean;
/** All exchanges of a folder, sessions together and in order. */
export function loadCorpus(directory?: string): RecordedExchange[];
/** Bytes of a recorded body; empty when there is none. */
export function bodyBytes(message: RecordedMessage | undefined): Buffer;
