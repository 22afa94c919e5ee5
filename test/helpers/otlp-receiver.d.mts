export interface ReceivedSpan {
  resource: Record<string, unknown>;
  scope: string;
  schemaUrl: string;
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  startUnixNano: string;
  endUnixNano: string;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  status: { code: number; message?: string };
}

export interface ReceivedPoint {
  name: string;
  unit: string;
  type: 'histogram' | 'sum' | 'gauge';
  scope: string;
  schemaUrl: string;
  resource: Record<string, unknown>;
  attributes: Record<string, unknown>;
  exemplars: number;
  /** Sums and gauges. */
  value?: number;
  /** Histograms. */
  count?: number;
  sum?: number;
  bounds?: number[];
  counts?: number[];
}

export interface ReceivedRequest {
  number: number;
  path: string;
  headers: Record<string, string | undefined>;
  status: number;
  sizeBytes: number;
  atMs: number;
  /** Uncompressed. */
  body: Buffer;
  spans: ReceivedSpan[];
  metrics: ReceivedPoint[];
}

export interface ReceivedPayload {
  key: string;
  digest: string;
  span: ReceivedSpan;
  complete: boolean;
  parts: Record<string, unknown>[];
  json?: Buffer;
  snapshot?: unknown;
}

export interface PlannedAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  delayMs?: number;
  closeAfterBytes?: number;
  hang?: boolean;
  drip?: boolean;
  answerEarly?: boolean;
  stopReading?: boolean;
  /** The same once the request was read, when it depends on what is in it. */
  afterReading?: (spans: readonly ReceivedSpan[]) => Omit<PlannedAnswer, 'afterReading'>;
}

export type Behaviour = (request: {
  path: string;
  number: number;
  headers: Record<string, string | undefined>;
}) => PlannedAnswer;

export interface OtlpReceiver {
  url: string;
  requests: ReceivedRequest[];
  readonly seen: number;
  behave(next: Behaviour): void;
  metadataSpans(): ReceivedSpan[];
  metrics(): ReceivedPoint[];
  payloads(): ReceivedPayload[];
  until(condition: () => boolean, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

export function decodeSpans(body: Buffer, contentType: string): ReceivedSpan[];
export function decodeMetrics(body: Buffer, contentType: string): ReceivedPoint[];
export function startOtlpReceiver(behave?: Behaviour): Promise<OtlpReceiver>;
