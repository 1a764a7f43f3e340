import type { Controller, Lead } from '@csi-sidecars/controller'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Recorder } from '@csi-sidecars/events'
import { guarded } from '@csi-sidecars/kube-client'
import { FifoOrder, reservedFor } from '@csi-sidecars/workqueue'
import { KeyedMutex } from './claim/keyed-mutex.ts'
import { modifyController } from './modify/controller.ts'
import { unsupportedModifyController } from './modify/unsupported.ts'
import type { ResizerParts, TermParts } from './parts.ts'
import { resizeController } from './resize/controller.ts'

/** The resizer's controllers for as long as this process leads. */
export function resizerControllers(parts: ResizerParts, { assertLeading }: Lead): readonly Controller[] {
  const { client, claims, volumes, classes, driver, recorder, expands, clock, log } = parts
  const common = {
    api: guarded(client, assertLeading),
    claims,
    volumes,
    mutex: new KeyedMutex(),
    unconfirmed: new Set<string>(),
    recorder: whileLeading(recorder, assertLeading),
    clock,
    log,
  }
  const { workers } = parts.settings
  const newOrder = (): FifoOrder => new FifoOrder({ workers, reserved: reservedFor(workers) })
  const orders = { resize: newOrder(), modify: newOrder() }
  const term: TermParts = { ...parts, assertLeading, common, orders }
  const cannotModify = classes === undefined && !driver.capabilities.controller.has(ControllerRpc.MODIFY_VOLUME)
  return [
    ...(expands === undefined ? [] : [resizeController(term)]),
    ...(classes === undefined ? [] : [modifyController({ ...term, classes })]),
    ...(cannotModify ? [unsupportedModifyController(term)] : []),
  ]
}

/** Drops events after this process has lost the lead. The next leader finds the same state and reports it. */
function whileLeading(recorder: Recorder, assertLeading: () => void): Pick<Recorder, 'event'> {
  return {
    event: (target, text) => {
      try {
        assertLeading()
      } catch {
        return
      }
      recorder.event(target, text)
    },
  }
}
