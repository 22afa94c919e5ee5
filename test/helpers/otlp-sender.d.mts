export type SentValue = string | number | boolean | Uint8Array;
export type SentAttributes = Record<string, SentValue>;

export interface SentPart {
  bytes: Uint8Array;
  digest: string;
  index?: number;
  count?: number;
  payloadSha256?: string;
}

export interface SentResource {
  attributes?: SentAttributes;
  spans?: { attributes?: SentAttributes; events?: { name?: string; attributes?: SentAttributes }[] }[];
}

export function sha256(bytes: Uint8Array | string): string;
export function partAttributes(part: SentPart, changes?: Record<string, SentValue | undefined>): SentAttributes;
export function traceRequest(resources: SentResource[], options?: { json?: boolean }): Buffer;
export function partRequest(
  key: string | undefined,
  part: SentPart,
  changes?: Record<string, SentValue | undefined>,
  options?: { json?: boolean },
): Buffer;
export function decodeExportResponse(bytes: Uint8Array): {
  partialSuccess?: { rejectedSpans?: number; errorMessage?: string };
};
export function decodeStatus(bytes: Uint8Array): { code?: number; message?: string };
