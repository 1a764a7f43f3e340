import type { Controller, Lead } from '@csi-sidecars/controller'
import { guarded } from '@csi-sidecars/kube-client'
import { volumeController } from './persistent-volume/controller.ts'
import type { AttacherParts, TermParts } from './term/deps.ts'
import { trivialController } from './trivial/controller.ts'
import { attachmentController } from './volume-attachment/controller.ts'
import { VolumeFinalizers } from './volumes/volume-finalizers.ts'

/** The attacher's controllers for as long as this process leads. */
export function attacherControllers(parts: AttacherParts, { assertLeading }: Lead): readonly Controller[] {
  const api = guarded(parts.client, assertLeading)
  if (parts.attaching === undefined) return [trivialController({ ...parts, api })]
  const { volumes } = parts.attaching
  const finalizers = new VolumeFinalizers({ api, volumes, finalizer: parts.settings.finalizer })
  const term: TermParts = { ...parts, ...parts.attaching, finalizers, api, assertLeading }
  return [attachmentController(term), volumeController(term)]
}
