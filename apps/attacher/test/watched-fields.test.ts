import { explore, recordingEvent, recordingReads } from '@csi-sidecars/testkit'
import { expect, it } from '@jest/globals'
import type { Attachment } from '../src/caches/attachment.ts'
import type { Volume } from '../src/caches/volume.ts'
import { attachmentModel } from '../src/testing/exhaustive/attachment-model.ts'
import { PARTS } from '../src/testing/exhaustive/attachment-state.ts'
import { volume } from '../src/testing/views.ts'
import type { AttachmentView } from '../src/volume-attachment/observe.ts'

/** Why a change of a field that a decision reads need not start a run. */
type Unwatched<T> = Readonly<Partial<Record<keyof T, string>>>

const UNWATCHED_ATTACHMENT: Unwatched<Attachment> = {
  annotated: 'says only how a patch is made',
  nodeName: 'immutable',
  remembered: 'written together with our finalizer',
  uid: 'another object is added',
}
const UNWATCHED_VOLUME: Unwatched<Volume> = {
  deleting: 'never ends but by another volume, which is added',
  finalizers: 'the controller of volumes restores ours',
  inTree: 'the source of a volume is immutable',
  spec: 'immutable but for its access modes',
}

/** Over every state of an exhaustive model: a decision waits for no change that starts no run. */
it('each field that a decision reads is watched by a trigger, or it is known why not', () => {
  const reads = { va: new Set<string>(), pv: new Set<string>() }
  const watched = { va: new Set<string>(), pv: new Set<string>() }
  const recorded = (view: AttachmentView): AttachmentView => {
    const { volume: seen } = view
    const pv = seen.from === 'pv' ? seen.pv && recordingReads(seen.pv, reads.pv) : undefined
    return {
      ...view,
      va: recordingReads(view.va, reads.va),
      volume: seen.from === 'pv' ? { ...seen, pv } : seen,
    }
  }
  const parts = {
    decideAttach: (view) => PARTS.decideAttach(recorded(view)),
    decideAttached: (view) => PARTS.decideAttached(recorded(view)),
    decideDetach: (view) => PARTS.decideDetach(recorded(view)),
    onAttachment: (event, queue) => PARTS.onAttachment(recordingEvent(event, watched.va), queue),
    causesOfVolume: (event) => PARTS.causesOfVolume(recordingEvent(event, watched.pv)),
  } satisfies Partial<typeof PARTS>
  explore(attachmentModel({ created: '', lists: true, most: 1, parts }))
  PARTS.causesOfVolume(
    recordingEvent({ type: 'updated', before: volume(), after: volume(), cause: 'watch' }, watched.pv),
  )
  expect(unwatched(reads.va, watched.va)).toEqual(Object.keys(UNWATCHED_ATTACHMENT).sort())
  expect(unwatched(reads.pv, watched.pv)).toEqual(Object.keys(UNWATCHED_VOLUME).sort())
})

function unwatched(reads: ReadonlySet<string>, watched: ReadonlySet<string>): readonly string[] {
  return [...reads].filter((field) => !watched.has(field)).sort()
}
