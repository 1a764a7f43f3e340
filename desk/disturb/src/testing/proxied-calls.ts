import type { ProxiedCall } from '../proxy/call.ts'

let count = 0

/** Returns the report of the proxy about a call that has begun. */
export function callOf(method: string, request: Readonly<Record<string, unknown>>): ProxiedCall {
  count += 1
  const open = { end: undefined, code: undefined, message: '', response: undefined, fault: undefined }
  return { id: count, method, request, start: count, ...open }
}

/** Returns both reports of the proxy about a call. Without `answer` the call is a success. */
export function answered(
  method: string,
  request: Readonly<Record<string, unknown>>,
  answer: Partial<ProxiedCall> = {},
): readonly [ProxiedCall, ProxiedCall] {
  const begun = callOf(method, request)
  const response = (answer.code ?? 0) === 0 ? {} : undefined
  return [begun, { ...begun, end: begun.start + 1, code: 0, response, ...answer }]
}

export function created(name: string, volumeId: string, capacityBytes: bigint): readonly [ProxiedCall, ProxiedCall] {
  const described = { volumeContext: {}, contentSource: undefined, accessibleTopology: [] }
  return answered('CreateVolume', { name }, { response: { volume: { volumeId, capacityBytes, ...described } } })
}
