import { isUtf8 } from 'node:buffer'
import { CODES, RpcError } from './rpc-error.ts'

/**
 * The `data` of a Secret as a call carries it. Throws the error that Go's gRPC ends the call with when a value is no
 * text: sending it with the bad bytes replaced would hand the driver another secret.
 */
export function secretsFrom(data: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, textOf(value)]))
}

function textOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  if (!isUtf8(bytes)) {
    throw new RpcError(CODES.Internal, 'grpc: error while marshaling: string field contains invalid UTF-8')
  }
  return bytes.toString('utf8')
}
