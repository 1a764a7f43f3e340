import { ControllerService, IdentityService, NodeService } from '@csi-sidecars/csi-proto'

/** A fault that the proxy can inject into one call. */
export type CallFault =
  /** The driver gets it later. */
  | { readonly do: 'delay'; readonly ms: number }
  /** The driver does it, and the answer is lost. */
  | { readonly do: 'loseAnswer' }
  /** The driver gets it twice, the second time when it has answered the first. */
  | { readonly do: 'repeat' }
  /** The driver gets it again a while after it has answered, when the caller may have continued. */
  | { readonly do: 'repeatLate'; readonly ms: number }
  /** The connection breaks while the driver works on it. */
  | { readonly do: 'cut' }
  /** The driver is killed when it has answered with success. The proxy only reports it. */
  | { readonly do: 'kill' }

/** One call as it passed the proxy; reported when it begins and again when it has ended. */
export interface ProxiedCall {
  /** The same for the beginning and the end. */
  readonly id: number
  /** `ControllerPublishVolume`, ... */
  readonly method: string
  readonly request: Readonly<Record<string, unknown>>
  /** Monotonic milliseconds. */
  readonly start: number
  readonly end: number | undefined
  /** The gRPC code. Undefined while the call runs, and if the driver was lost before its answer. */
  readonly code: number | undefined
  /** The driver's error message. */
  readonly message: string
  /** Undefined if the call failed. */
  readonly response: Readonly<Record<string, unknown>> | undefined
  /** The injected fault. */
  readonly fault: CallFault['do'] | undefined
}

/** Chooses the fault of a call when the call arrives. */
export type ChooseFault = (call: Pick<ProxiedCall, 'method' | 'request'>) => CallFault | undefined

/** How a call ended at the driver. */
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

/** A length and a flag precede the one message of a unary call. */
const FRAME_HEAD = 5

export function methodOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The message in the proto's terms; empty for an unknown method or an unreadable message. */
export function requestOf(path: string, body: Buffer): ProxiedCall['request'] {
  const definition = DEFINITIONS.get(path)
  return definition === undefined ? {} : (decoded(body, (bytes) => definition.requestDeserialize(bytes)) ?? {})
}

export function responseOf(path: string, answer: ProxyAnswer): ProxiedCall['response'] {
  const definition = DEFINITIONS.get(path)
  if (definition === undefined || codeOf(answer) !== 0) return undefined
  return decoded(answer.body, (bytes) => definition.responseDeserialize(bytes))
}

/** A driver that sends no status has failed for an unknown reason, which gRPC calls Unknown. */
export function codeOf({ headers, trailers }: ProxyAnswer): number {
  const status = trailers['grpc-status'] ?? headers['grpc-status']
  return status === undefined ? 2 : Number(status)
}

/** The message is percent-encoded on the wire. One with a wrong encoding is shown unchanged. */
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
    return undefined // the receiver will report it
  }
}
