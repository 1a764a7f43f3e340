import { explore, recordingEvent, recordingReads } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import type { CachedAttachment } from '../src/caches/attachment.ts'
import type { CachedVolume } from '../src/caches/volume.ts'
import { attachmentModel } from '../src/testing/exhaustive/attachment-model.ts'
import { ATTACHMENT_RULES } from '../src/testing/exhaustive/attachment-state.ts'
import { volume } from '../src/testing/views.ts'
import type { AttachmentView } from '../src/volume-attachment/observe.ts'

/** Fields that a decision reads although no trigger watches them, each with the reason. */
type Unwatched<T> = Readonly<Partial<Record<keyof T, string>>>

const UNWATCHED_ATTACHMENT: Unwatched<CachedAttachment> = {
  hasAnnotations: 'says only how a patch is made',
  nodeName: 'immutable',
  remembered: 'written together with our finalizer',
  uid: 'another object is added',
}
const UNWATCHED_VOLUME: Unwatched<CachedVolume> = {
  deleting: 'never ends but by another volume, which is added',
  finalizers: 'the controller of volumes restores ours',
  inTree: 'the source of a volume is immutable',
  spec: 'immutable but for its access modes',
}

/** Explores all states of the exhaustive model of an attachment, and records the fields that its functions read. */
it('a change of a field that an attach or a detach reads starts a run, with listed exceptions', () => {
  const reads = { va: new Set<string>(), pv: new Set<string>() }
  const watched = { va: new Set<string>(), pv: new Set<string>() }
  const recorded = (view: AttachmentView): AttachmentView => {
    const { volume: seen } = view
    const pv = seen.kind === 'pv' ? seen.pv && recordingReads(seen.pv, reads.pv) : undefined
    return {
      ...view,
      va: recordingReads(view.va, reads.va),
      volume: seen.kind === 'pv' ? { ...seen, pv } : seen,
    }
  }
  const rules = {
    decideAttach: (view) => ATTACHMENT_RULES.decideAttach(recorded(view)),
    decideKeep: (view) => ATTACHMENT_RULES.decideKeep(recorded(view)),
    decideDetach: (view) => ATTACHMENT_RULES.decideDetach(recorded(view)),
    onAttachment: (event, queue) => ATTACHMENT_RULES.onAttachment(recordingEvent(event, watched.va), queue),
    wakesOnVolume: (event) => ATTACHMENT_RULES.wakesOnVolume(recordingEvent(event, watched.pv)),
  } satisfies Partial<typeof ATTACHMENT_RULES>
  explore(attachmentModel({ created: '', lists: true, most: 1, rules }))
  ATTACHMENT_RULES.wakesOnVolume(
    recordingEvent({ type: 'updated', before: volume(), after: volume(), origin: 'change' }, watched.pv),
  )
  expect(unwatched(reads.va, watched.va)).toEqual(Object.keys(UNWATCHED_ATTACHMENT).sort())
  expect(unwatched(reads.pv, watched.pv)).toEqual(Object.keys(UNWATCHED_VOLUME).sort())
})

function unwatched(reads: ReadonlySet<string>, watched: ReadonlySet<string>): readonly string[] {
  return [...reads].filter((field) => !watched.has(field)).sort()
}
