export interface Provider {
  port: number;
  seen: { url: string; rawHeaders: string[]; body: Buffer; sent: Buffer[] }[];
  base(way: string, run: string): string;
  close(): Promise<void>;
}
export function startProvider(): Promise<Provider>;
