import { type Clock, messageOf } from '@csi-sidecars/base'
import type { Logger } from '@csi-sidecars/telemetry'

export interface Saver {
  /** Something has changed. */
  changed(): void
  /** Saves what is not saved yet, and saves no more. */
  close(): Promise<void>
}

/** Saves a while after a change, so that many changes are one save; never two saves at a time. */
export function saveChanges(options: { clock: Clock; log: Logger; delayMs: number; save: () => Promise<void> }): Saver {
  const { clock, log, delayMs, save } = options
  let cancel: (() => void) | undefined
  let saving: Promise<void> = Promise.resolve()
  const saveNow = (): Promise<void> => {
    cancel = undefined
    saving = saving
      .then(save)
      .catch((error: unknown) => log.error(error, 'Failed to save data', { reason: messageOf(error) }))
    return saving
  }
  return {
    changed() {
      cancel ??= clock.schedule(delayMs, () => void saveNow())
    },
    async close() {
      const pending = cancel !== undefined
      cancel?.()
      await (pending ? saveNow() : saving)
    },
  }
}
