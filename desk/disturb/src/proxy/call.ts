import { ControllerService, IdentityService, NodeService } from '@csi-sidecars/csi-proto'

/** A fault that the proxy can inject into one call. */
export type CallFault =
  /** The proxy sends the call to the driver after a pause. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The driver performs the call, but the caller gets no answer. */
  | { readonly kind: 'loseAnswer' }
  /** The driver gets the call twice, the second time after its first answer. */
  | { readonly kind: 'repeat' }
  /** The driver gets the call again some time after its answer. The caller may have sent other calls by then. */
  | { readonly kind: 'repeatLate'; readonly ms: number }
  /** The connection breaks while the driver works on the call. */
  | { readonly kind: 'cut' }
  /** The driver is killed after a successful call, by the program that uses the proxy. */
  | { readonly kind: 'kill' }

/** One call through the proxy. It is reported when it begins and again when it has ended. */
export interface ProxiedCall {
  /** The ID of the call, which is the same in both reports. */
  readonly id: number
  /** The name of the method, such as `ControllerPublishVolume`. */
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** The start of the call in monotonic milliseconds. */
  readonly start: number
  readonly end: number | undefined
  /** The gRPC code. Undefined while the call runs, and if the connection to the driver was lost before the answer. */
  readonly code: number | undefined
  /** The driver's error message. */
  readonly message: string
  /** The decoded response. Undefined if the call failed. */
  readonly response: Readonly<Record<string, unknown>> | undefined
  /** The injected fault. */
  readonly fault: CallFault['kind'] | undefined
}

/** Chooses the fault of a call when the call arrives. */
export type ChooseFault = (call: Pick<ProxiedCall, 'method' | 'request'>) => CallFault | undefined

/** The driver's answer to a call. */
export interface ProxyAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly trailers: Readonly<Record<string, string>>
}

const DEFINITIONS = new Map(
  [...Object.values(IdentityService), ...Object.values(ControllerService), ...Object.values(NodeService)].map(
    (definition) => [definition.path, definition],
  ),
)

/** The bytes before the message of a unary gRPC call: a flag and the length. */
const FRAME_HEAD = 5

export function methodOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Returns the decoded request. It is an empty object for an unknown method or an unreadable message. */
export function requestOf(path: string, body: Buffer): ProxiedCall['request'] {
  const definition = DEFINITIONS.get(path)
  return definition === undefined ? {} : (decoded(body, (bytes) => definition.requestDeserialize(bytes)) ?? {})
}

export function responseOf(path: string, answer: ProxyAnswer): ProxiedCall['response'] {
  const definition = DEFINITIONS.get(path)
  if (definition === undefined || codeOf(answer) !== 0) return undefined
  return decoded(answer.body, (bytes) => definition.responseDeserialize(bytes))
}

/** Returns the gRPC code of an answer. A driver that sends no status has failed with the code Unknown, 2. */
export function codeOf({ headers, trailers }: ProxyAnswer): number {
  const status = trailers['grpc-status'] ?? headers['grpc-status']
  return status === undefined ? 2 : Number(status)
}

/** Returns the error message, which gRPC sends percent-encoded. A wrongly encoded message is returned unchanged. */
export function messageTextOf({ headers, trailers }: ProxyAnswer): string {
  const message = trailers['grpc-message'] ?? headers['grpc-message'] ?? ''
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}

function decoded(body: Buffer, decode: (bytes: Buffer) => object): Readonly<Record<string, unknown>> | undefined {
  if (body.length < FRAME_HEAD || body[0] !== 0) return undefined
  try {
    return { ...decode(body.subarray(FRAME_HEAD)) }
  } catch {
    return undefined // the driver or the caller reports that it cannot decode the message
  }
}
