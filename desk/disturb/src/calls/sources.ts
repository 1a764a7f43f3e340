import { CODES } from '@csi-sidecars/csi'
import type { CsiDriver, DriverCall } from '@csi-sidecars/emulator'
import type { ProxiedCall } from '../proxy/call.ts'
import type { CallFeed, LiveCall, LiveCalls } from './seen.ts'

/** Returns a source that reports the calls of all clients to the emulated driver. */
export function callsOf(driver: CsiDriver): LiveCalls {
  return (listener) => {
    const ids = new WeakMap<DriverCall, number>()
    let last = 0
    return driver.log.subscribe((call) => {
      const id = ids.get(call) ?? ++last
      ids.set(call, id)
      listener(liveCall(id, call))
    })
  }
}

/** Reports the calls of all clients through a proxy. A call without an answer is reported as Unavailable. */
export class ProxiedCalls {
  readonly #listeners = new Set<(call: LiveCall) => void>()

  readonly source: LiveCalls = (listener) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly report = (call: ProxiedCall): void => {
    for (const listener of [...this.#listeners]) listener(liveCall(call.id, call))
  }
}

/** Returns a source that reports each call only once, when the call was answered. */
export function answered(calls: LiveCalls): CallFeed {
  return (listener) =>
    calls(({ method, request, end }) => {
      if (end === undefined) return
      const { code, tookMs, message } = end
      listener({ method, request, code, tookMs, ...(message !== undefined && { message }) })
    })
}

type ReportedCall = Pick<ProxiedCall, 'method' | 'request' | 'start' | 'end' | 'code'> &
  Partial<Pick<ProxiedCall, 'message' | 'response'>>

function liveCall(id: number, { method, request, start, end, code, message, response }: ReportedCall): LiveCall {
  if (end === undefined) return { id, method, request, end: undefined }
  const details = message === undefined ? {} : { message }
  return { id, method, request, end: { code: code ?? CODES.Unavailable, tookMs: end - start, response, ...details } }
}
