/** A connection to nowhere: takes what the client writes, and gives what the replay pushes. */
import { AsyncResource } from 'node:async_hooks';
import { Socket } from 'node:net';
import { platform } from './platform.ts';

/** What the other end is said to be. */
export interface Peer {
  host: string;
  port: number;
  secure: boolean;
}

/** A socket without a handle. It is connected in the next turn, unless somebody holds it back. */
export class ReplaySocket extends Socket {
  readonly peer: Peer;
  /** Bytes that the client wrote. */
  writtenBytes = 0;
  readonly #resource: AsyncResource = new AsyncResource('TCPWRAP');
  #isConnected = false;

  constructor(peer: Peer) {
    super({ allowHalfOpen: false });
    this.peer = peer;
    (this as { connecting: boolean }).connecting = true;
    const fixed = {
      remoteAddress: addressOf(peer.host),
      remotePort: peer.port,
      remoteFamily: 'IPv4',
      localAddress: '127.0.0.1',
      localPort: 1024,
    };
    // Clients tell a TLS connection by these being there at all.
    const ofTls = peer.secure ? { encrypted: true, authorized: true, alpnProtocol: false } : {};
    for (const [name, value] of Object.entries({ ...fixed, ...ofTls }))
      Object.defineProperty(this, name, { configurable: true, value });
  }

  /** The connection is there. */
  establish(): void {
    if (this.#isConnected || this.destroyed) return;
    this.#isConnected = true;
    this.#resource.runInAsyncScope(() => {
      const address = addressOf(this.peer.host);
      if (address !== this.peer.host) this.emit('lookup', null, address, 4, this.peer.host);
      (this as { connecting: boolean }).connecting = false;
      this.emit('connect');
      if (this.peer.secure) this.emit('secureConnect');
      this.emit('ready');
    });
  }

  /** Bytes come in. */
  receive(bytes: Uint8Array): void {
    if (bytes.length > 0 && !this.destroyed && !this.readableEnded)
      this.#resource.runInAsyncScope(() => this.push(bytes));
  }

  /** The other end closes. */
  finish(): void {
    if (!this.destroyed) this.#resource.runInAsyncScope(() => this.push(null));
  }

  /** The connection breaks. */
  break(error: Error): void {
    if (!this.destroyed) this.#resource.runInAsyncScope(() => this.destroy(error));
  }

  override _read(): void {
    // Bytes are pushed when their time has come.
  }

  override _write(chunk: unknown, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.writtenBytes += chunk instanceof Uint8Array ? chunk.length : Buffer.byteLength(String(chunk));
    if (this.connecting) this.once('connect', () => callback());
    else platform.nextTick(callback);
  }

  override _writev(
    chunks: { chunk: unknown; encoding: BufferEncoding }[],
    callback: (error?: Error | null) => void,
  ): void {
    for (const { chunk } of chunks.slice(1)) {
      this.writtenBytes += chunk instanceof Uint8Array ? chunk.length : Buffer.byteLength(String(chunk));
    }
    this._write(chunks[0]?.chunk ?? '', 'utf8', callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    platform.nextTick(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    (this as { connecting: boolean }).connecting = false;
    platform.nextTick(() => {
      callback(error);
      // Behind the error, which comes a turn later.
      platform.nextTick(() => this.emit('close', error !== null));
    });
  }

  override ref(): this {
    return this;
  }

  override unref(): this {
    return this;
  }

  /** No time passes here: what timed out is on record. Zero takes the listener away, as clients do before they use a socket again. */
  override setTimeout(timeoutMs: number, callback?: () => void): this {
    (this as { timeout?: number }).timeout = timeoutMs;
    if (callback && timeoutMs === 0) this.removeListener('timeout', callback);
    else if (callback) this.once('timeout', callback);
    return this;
  }

  override setNoDelay(): this {
    return this;
  }

  override setKeepAlive(): this {
    return this;
  }

  override address(): Record<string, never> {
    return {};
  }

  // What a client may ask of a TLS connection.
  getPeerCertificate(): object {
    return { subject: { CN: this.peer.host }, subjectaltname: `DNS:${this.peer.host}` };
  }

  getProtocol(): string {
    return 'TLSv1.3';
  }

  getCipher(): object {
    return { name: 'TLS_AES_256_GCM_SHA384', standardName: 'TLS_AES_256_GCM_SHA384', version: 'TLSv1.3' };
  }

  getSession(): undefined {
    return undefined;
  }

  isSessionReused(): boolean {
    return false;
  }

  setServername(): void {
    // Nobody is there to be named.
  }
}

function addressOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? host.replace(/^\[|\]$/g, '') : '127.0.0.1';
}
