/** A request to the server: from `node:http`, or from a caller in the same process. */
export interface HttpRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: { readonly [name in RequestHeader]?: string | undefined }
}

type RequestHeader = 'accept' | 'authorization' | 'content-length' | 'content-type' | 'user-agent'

/** The part of a Node.js response that the server uses. */
export interface HttpResponse {
  readonly headersSent: boolean
  readonly writableNeedDrain: boolean
  setHeader(name: string, value: string | readonly string[]): unknown
  writeHead(code: number, headers: Readonly<Record<string, string | number>>): unknown
  flushHeaders(): void
  write(chunk: Uint8Array): boolean
  end(text?: string | Uint8Array): unknown
  destroy(): unknown
  on(event: 'close', listener: () => void): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  off(event: 'drain', listener: () => void): unknown
}
