import { connect } from 'node:net'
import { messageOf, systemCodeOf } from '@csi-sidecars/base'

/** No connection within the time for it; the text is Go's. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError'
  /** The key-value pairs of the log line that reports the error. */
  readonly pairs: { readonly lastError: string }

  constructor(lastError: string, cause: unknown) {
    super('context deadline exceeded', { cause })
    this.pairs = { lastError }
  }
}

/** The texts of Go for the error codes of Node. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EACCES: 'permission denied',
  ECONNREFUSED: 'connection refused',
  ENOTDIR: 'not a directory',
  EPROTOTYPE: 'protocol wrong type for socket',
  ENAMETOOLONG: 'file name too long',
  EAGAIN: 'resource temporarily unavailable',
}

/** Returns the reason why no connection to a socket is possible. grpc-js does not report the reason, so this function tries once more. */
export function whyUnreachable(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('error', (error) => {
      const code = systemCodeOf(error)
      resolve(`connect: ${(code !== undefined && REASONS[code]) || (code ?? messageOf(error))}`)
    })
    socket.once('connect', () => {
      socket.destroy()
      resolve('connected, but the other side does not speak gRPC')
    })
  })
}
