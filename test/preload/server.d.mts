export interface PreloadServer {
  url: string;
  nextHeld(): Promise<void>;
  close(): Promise<void>;
}
export function startServer(): Promise<PreloadServer>;
