export interface Received {
  method: string;
  url: string;
  rawHeaders: string[];
  rawTrailers: string[];
  body: Buffer;
  port?: number;
}
export interface WireServer {
  port: number;
  received: Received[];
  text: string;
  url(form: string, run: string): string;
  close(): Promise<void>;
}
export function startWireServer(): Promise<WireServer>;
