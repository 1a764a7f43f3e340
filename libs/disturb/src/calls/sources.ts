import { CODES } from '@csi-sidecars/csi'
import type { CsiDriver, DriverCall } from '@csi-sidecars/emulator'
import type { ProxiedCall } from '../proxy/call.ts'
import type { CallFeed, LiveCall, LiveCalls } from './seen.ts'

/** All calls to the emulated driver, of all clients. */
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

/** All calls that have passed a proxy, of all clients. A call that ended without an answer counts as Unavailable. */
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

/** Returns the calls that have an answer. */
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
  const words = message === undefined ? {} : { message }
  return { id, method, request, end: { code: code ?? CODES.Unavailable, tookMs: end - start, response, ...words } }
}
