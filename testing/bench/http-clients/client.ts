/** A request of the benchmark: a PATCH with a body, as the sidecars send it. */
export interface BenchRequest {
  readonly path: string
  readonly body: string
  /** Aborted if the caller no longer waits. */
  readonly signal: AbortSignal
}

/** The server of the benchmark, and the certificate that the client trusts. */
export interface BenchServer {
  readonly host: string
  readonly port: number
  readonly ca: string
}

/** A client under test: it must keep connections, limit the time of a request, and read the whole answer. */
export interface BenchClient {
  /** Resolves with the length of the answer. Rejects for a status other than 200. */
  send(request: BenchRequest): Promise<number>
  close(): Promise<void> | void
}

export const CONNECTIONS = 32
export const TIMEOUT_MS = 35_000
export const HEADERS = {
  'User-Agent': 'csi-attacher/v1',
  Authorization: `Bearer ${'t'.repeat(900)}`,
  Accept: 'application/json',
  'Content-Type': 'application/merge-patch+json',
}
