import { CODES } from '@csi-sidecars/csi'
import type { CsiDriver } from '@csi-sidecars/emulator'
import type { ProxiedCall } from '../proxy/call.ts'
import type { CallSource, SeenCall } from './seen.ts'

/** Every call that the emulated driver has answered, whoever made it. */
export function callsOf(driver: CsiDriver): CallSource {
  return (listener) =>
    driver.log.subscribe(({ method, request, start, end, code }) => {
      if (end !== undefined && code !== undefined) listener({ method, request, code, tookMs: end - start })
    })
}

/** Every call that has passed a proxy and ended, whoever made it. One without an answer counts as Unavailable. */
export class ProxiedCalls {
  readonly #listeners = new Set<(call: SeenCall) => void>()

  readonly source: CallSource = (listener) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly tell = ({ method, request, start, end, code = CODES.Unavailable, message }: ProxiedCall): void => {
    if (end === undefined) return
    for (const listener of [...this.#listeners]) listener({ method, request, code, message, tookMs: end - start })
  }
}
