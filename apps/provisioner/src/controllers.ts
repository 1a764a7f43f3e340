import type { Controller, Lead } from '@csi-sidecars/controller'
import type { Recorder } from '@csi-sidecars/events'
import { guarded } from '@csi-sidecars/kube-client'
import { claimControllers } from './claims/controller.ts'
import { backoffOf, type ProvisionerParts, type TermParts } from './parts.ts'
import { cloneReleaseController } from './sources/release.ts'
import { volumeController } from './volumes/controller.ts'

/** The provisioner's controllers for as long as this process leads. */
export function provisionerControllers(parts: ProvisionerParts, { assertLeading }: Lead): readonly Controller[] {
  const term: TermParts = {
    ...parts,
    recorder: whileLeading(parts.recorder, assertLeading),
    populatorRecorder: whileLeading(parts.populatorRecorder, assertLeading),
    api: guarded(parts.client, assertLeading),
    assertLeading,
  }
  const { settings, caches, api } = { ...term }
  const workers = settings.cloneReleaseWorkers
  const releases =
    workers === undefined
      ? []
      : [cloneReleaseController({ api, claims: caches.claims, workers, backoff: backoffOf(settings), log: term.log })]
  return [...claimControllers(term), volumeController(term), ...releases]
}

/** A process that no longer leads reports nothing: the next leader finds it out and reports it. */
function whileLeading(recorder: Recorder, assertLeading: () => void): Recorder {
  return {
    event(target, text) {
      try {
        assertLeading()
      } catch {
        return
      }
      recorder.event(target, text)
    },
    flush: (signal) => recorder.flush(signal),
  }
}
