/** Public names of @orangebox/recorder. */
export { type Mode, readConfig, type RecorderConfig } from './config.ts';
export { decodeContent } from './content-decoding.ts';
export { createRecorder, type Recorder, type RecorderOptions, type RecorderStats } from './recorder.ts';
export type { PlatformTimers } from './timers.ts';
export type {
  CallContext,
  InboundRequest,
  OtelContext,
  WireEnd,
  WireExchange,
  WireExchangeStart,
  WireSink,
  WrappedToolRun,
} from './wire-events.ts';
export { prepareSend } from './prepare-send.ts';
export type { PreparedSend, SendAnswer } from './send-once.ts';
