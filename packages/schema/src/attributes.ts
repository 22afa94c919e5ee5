/** Attribute, event and resource names on spans. gen_ai names follow the semantic conventions in {@link SEMCONV_SCHEMA_URL}. */

/** Version of the OpenTelemetry semantic conventions that the gen_ai names are taken from. */
export const SEMCONV_VERSION = '1.45.0';

/** Schema URL set on Orangebox's instrumentation scope. */
export const SEMCONV_SCHEMA_URL: string = `https://opentelemetry.io/schemas/${SEMCONV_VERSION}`;

/** Instrumentation scope name of every span Orangebox makes. */
export const INSTRUMENTATION_SCOPE = 'orangebox';

/** Attributes of Orangebox's own. */
export const ATTR = {
  snapshotKey: 'orangebox.snapshot.key',
  snapshotDigest: 'orangebox.snapshot.digest',
  /** Bytes of the snapshot's JSON. */
  snapshotSize: 'orangebox.snapshot.size',
  snapshotFidelity: 'orangebox.snapshot.fidelity',
  snapshotFidelityReason: 'orangebox.snapshot.fidelity.reason',
  sessionId: 'orangebox.session.id',
  sessionSeq: 'orangebox.session.seq',
  sessionBasis: 'orangebox.session.basis',
  /** Inline transport: why the snapshot did not ride on its span and stands on the program's machine only; absent otherwise. */
  snapshotKeptLocal: 'orangebox.snapshot.kept_local',
} as const;

/** gen_ai, error, server and http names that Orangebox writes. */
export const GEN_AI = {
  operationName: 'gen_ai.operation.name',
  providerName: 'gen_ai.provider.name',
  system: 'gen_ai.system',
  conversationId: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestFrequencyPenalty: 'gen_ai.request.frequency_penalty',
  requestPresencePenalty: 'gen_ai.request.presence_penalty',
  requestStopSequences: 'gen_ai.request.stop_sequences',
  requestSeed: 'gen_ai.request.seed',
  requestChoiceCount: 'gen_ai.request.choice.count',
  requestStream: 'gen_ai.request.stream',
  requestEncodingFormats: 'gen_ai.request.encoding_formats',
  outputType: 'gen_ai.output.type',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  responseFinishReasons: 'gen_ai.response.finish_reasons',
  responseTimeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  usageInputTokens: 'gen_ai.usage.input_tokens',
  usageOutputTokens: 'gen_ai.usage.output_tokens',
  usageCacheReadInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  usageCacheCreationInputTokens: 'gen_ai.usage.cache_creation.input_tokens',
  tokenType: 'gen_ai.token.type',
  usageReasoningOutputTokens: 'gen_ai.usage.reasoning.output_tokens',
  embeddingsDimensionCount: 'gen_ai.embeddings.dimension.count',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  toolCallArguments: 'gen_ai.tool.call.arguments',
  toolCallResult: 'gen_ai.tool.call.result',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  toolDefinitions: 'gen_ai.tool.definitions',
} as const;

/** HTTP, server and error names of the semantic conventions. */
export const HTTP_ATTR = {
  requestMethod: 'http.request.method',
  requestResendCount: 'http.request.resend_count',
  responseStatusCode: 'http.response.status_code',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  urlFull: 'url.full',
  errorType: 'error.type',
} as const;

/** Names used in the payload twin (resource attribute {@link ATTR.snapshotKey}, one event with these). */
export const PAYLOAD = {
  eventName: 'orangebox.snapshot',
  body: 'orangebox.snapshot.body',
  encoding: 'orangebox.snapshot.encoding',
  digest: 'orangebox.snapshot.digest',
  payloadSha256: 'orangebox.payload.sha256',
  partIndex: 'orangebox.part.index',
  partCount: 'orangebox.part.count',
  partSha256: 'orangebox.part.sha256',
} as const;

/** Largest part of a payload: 8 MiB, below the default request limit of every collector. */
export const PAYLOAD_PART_MAX_BYTES: number = 8 * 1024 * 1024;

/** Names of metrics: the conventions' client histograms, and the recorder's own health. */
export const METRIC = {
  /** Seconds, histogram. */
  operationDuration: 'gen_ai.client.operation.duration',
  /** Tokens, histogram, by {@link GEN_AI.tokenType}. */
  tokenUsage: 'gen_ai.client.token.usage',
  /** Seconds, histogram, streamed answers only. */
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  /** Snapshots written to the segment, counter, by {@link METRIC_ATTR.kind}. */
  recorded: 'orangebox.recorder.recorded',
  /** Snapshots that whoever was sent them acknowledged, counter. */
  sent: 'orangebox.recorder.sent',
  /** What was not kept or not sent, counter, by {@link METRIC_ATTR.reason}. */
  notSampled: 'orangebox.recorder.not_sampled',
  dropped: 'orangebox.recorder.dropped',
  /** Snapshots that wait to be sent, gauge. */
  pending: 'orangebox.recorder.pending',
  /** Seconds that the oldest of them has waited, gauge. */
  oldestUnsentAge: 'orangebox.recorder.oldest_unsent.age',
  /** Bytes written to segments, counter. */
  segmentBytes: 'orangebox.recorder.segment.bytes',
  /** Bytes of the file that is written to, gauge. */
  segmentSize: 'orangebox.recorder.segment.size',
} as const;

/** Attributes of the recorder's own metrics. */
export const METRIC_ATTR = {
  kind: 'orangebox.snapshot.kind',
  reason: 'orangebox.reason',
} as const;
