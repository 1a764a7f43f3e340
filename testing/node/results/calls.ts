/** The texts of a driver's log that say when a call starts and ends. Both drivers of the node write them. */
const START = /GRPC call: (\S+)/
const REQUEST = /GRPC request: (\{.*\})\s*$/
const END = /gRPCCall: (\{.*\})\s*$/

/** The calls that change something. Drivers may get the others at any time. */
const CHANGES = /^\/csi\.v1\.Controller\/(Create|Delete|Controller(Publish|Unpublish|Expand|Modify))/

interface Request {
  readonly volume_id?: string
  readonly snapshot_id?: string
  readonly name?: string
}

/**
 * Returns the calls in the log of a driver that started while the same call for the same volume or
 * snapshot was running, as `method object`.
 */
export function callsTwiceAtOnce(log: string): readonly string[] {
  const methods: string[] = []
  const running = new Set<string>()
  const twice: string[] = []
  for (const line of log.split('\n')) {
    const method = START.exec(line)?.[1]
    if (method !== undefined) methods.push(method)
    const request = REQUEST.exec(line)?.[1]
    // The log has no call line for a Probe.
    if (request !== undefined && methods.length > 0) {
      const key = keyOf(methods.shift() ?? '', JSON.parse(request) as Request)
      if (key !== undefined && running.has(key)) twice.push(key)
      if (key !== undefined) running.add(key)
    }
    const end = END.exec(line)?.[1]
    if (end !== undefined) {
      const call = JSON.parse(end) as { readonly Method: string; readonly Request: Request }
      const key = keyOf(call.Method, call.Request)
      if (key !== undefined) running.delete(key)
    }
  }
  return twice
}

function keyOf(method: string, { volume_id, snapshot_id, name }: Request): string | undefined {
  const object = volume_id ?? snapshot_id ?? name
  return object === undefined || !CHANGES.test(method) ? undefined : `${method} ${object}`
}

/** Returns the first gap in the numbers that a pod has written, one in each line from 1 on. Undefined if there is none. */
export function firstGap(text: string): string | undefined {
  const lines = text.trimEnd().split('\n')
  const at = lines.findIndex((line, index) => line !== String(index + 1))
  return at === -1 ? undefined : `line ${at + 1} is ${JSON.stringify(lines[at])}`
}
