import type { Controller, Lead } from '@csi-sidecars/controller'
import { guarded } from '@csi-sidecars/kube-client'
import { volumeController } from './persistent-volume/controller.ts'
import type { AttacherDeps, AttacherTerm } from './term/deps.ts'
import { trivialController } from './trivial/controller.ts'
import { attachmentController } from './volume-attachment/controller.ts'
import { VolumeFinalizers } from './volumes/volume-finalizers.ts'

/** The attacher's controllers for as long as this process leads. */
export function attacherControllers(deps: AttacherDeps, { assertLeading }: Lead): readonly Controller[] {
  const api = guarded(deps.client, assertLeading)
  if (deps.attaching === undefined) return [trivialController({ ...deps, api })]
  const { volumes } = deps.attaching
  const finalizers = new VolumeFinalizers({ api, volumes, finalizer: deps.settings.finalizer })
  const term: AttacherTerm = { ...deps, ...deps.attaching, finalizers, api, assertLeading }
  return [attachmentController(term), volumeController(term)]
}
