import type { Clock } from '@csi-sidecars/base'
import { CODES, type Driver, RpcError } from '@csi-sidecars/csi'
import type { CsiDriver } from '@csi-sidecars/emulator'
import type { CallSource, SeenCall } from './seen.ts'

/** Every call that the emulated driver has answered, whoever made it. */
export function callsOf(driver: CsiDriver): CallSource {
  return (listener) =>
    driver.log.subscribe(({ method, request, start, end, code }) => {
      if (end !== undefined && code !== undefined) listener({ method, request, code, tookMs: end - start })
    })
}

/** A driver whose calls by this process can be followed: of a person's own driver that is all that is seen. */
export function tapped(driver: Driver, clock: Clock): { readonly driver: Driver; readonly calls: CallSource } {
  const listeners = new Set<(call: SeenCall) => void>()
  const tell = (call: SeenCall): void => {
    for (const listener of [...listeners]) listener(call)
  }
  const call: Driver['call'] = async (method, request, options) => {
    const start = clock.monotonic()
    const seen = (code: number): void => {
      const name = method.path.slice(method.path.lastIndexOf('/') + 1)
      tell({ method: name, request: request as SeenCall['request'], code, tookMs: clock.monotonic() - start })
    }
    try {
      const reply = await driver.call(method, request, options)
      seen(CODES.OK)
      return reply
    } catch (error) {
      seen(error instanceof RpcError ? error.code : CODES.Unknown)
      throw error
    }
  }
  const wrapped: Driver = {
    get name() {
      return driver.name
    },
    get capabilities() {
      return driver.capabilities
    },
    get state() {
      return driver.state
    },
    get lostForMs() {
      return driver.lostForMs
    },
    failure: driver.failure,
    call,
    subscribe: (listener) => driver.subscribe(listener),
    close: () => driver.close(),
  }
  const calls: CallSource = (listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return { driver: wrapped, calls }
}
