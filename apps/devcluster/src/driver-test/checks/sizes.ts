import type { ProxiedCall } from '../../proxy/call.ts'
import type { Violation } from './checks.ts'
import { volumeIdOf } from './repetition.ts'
import { text } from './volume-tracker.ts'

interface Range {
  readonly requiredBytes: bigint
  readonly limitBytes: bigint
}

/** Whether an answer has the size that was asked for. */
export function wrongSize(call: ProxiedCall): readonly Violation[] {
  const { method, request, response, code } = call
  if (code !== 0 || response === undefined) return []
  if (method !== 'CreateVolume' && method !== 'ControllerExpandVolume') return []
  const range = request['capacityRange'] as Range | undefined
  const created = response['volume'] as { readonly capacityBytes: bigint } | undefined
  const size = method === 'CreateVolume' ? created?.capacityBytes : (response['capacityBytes'] as bigint)
  // 0 says that the driver does not know.
  if (range === undefined || size === undefined || size === 0n) return []
  const { requiredBytes, limitBytes } = range
  const wrong =
    size < requiredBytes
      ? `${requiredBytes} were required`
      : limitBytes > 0n && size > limitBytes
        ? `${limitBytes} was the limit`
        : undefined
  if (wrong === undefined) return []
  const about = method === 'CreateVolume' ? volumeIdOf(call) : text(request['volumeId'])
  return [{ check: 'capacity', about, text: `${method} of ${about} answered with ${size} bytes where ${wrong}` }]
}
