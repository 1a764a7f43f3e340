/** A request as the server reads it: a request of `node:http`, or one without a socket. */
export interface HttpRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: { readonly [name in RequestHeader]?: string | undefined }
}

type RequestHeader = 'accept' | 'authorization' | 'content-length' | 'content-type' | 'user-agent'

/** The answer to a request. */
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
