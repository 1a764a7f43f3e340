import { explore, recordingEvent, recordingReads } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import type { ResizerClaim } from '../src/caches/claim.ts'
import type { ResizerVolume } from '../src/caches/volume.ts'
import { ClassModel } from '../src/testing/states/class-model.ts'
import { REAL as REAL_CLASS } from '../src/testing/states/class-state.ts'
import { SizeModel } from '../src/testing/states/size-model.ts'
import { REAL as REAL_SIZE } from '../src/testing/states/size-state.ts'

/** Fields that a decision reads although no trigger watches them, each with the reason. */
type Unwatched<T> = Readonly<Partial<Record<keyof T, string>>>

const IDENTITY = { uid: 'another object is added' }
const KEPT = 'kept by our patches'

const SIZE_CLAIM: Unwatched<ResizerClaim> = {
  ...IDENTITY,
  resourceVersion: 'guards a patch, which is sent again when it is refused',
  allocated: 'changes together with sizeStatus',
  conditions: 'written, never waited for',
  otherStatuses: KEPT,
  noNodeExpansion: KEPT,
  currentClass: KEPT,
  modifyVolumeStatus: KEPT,
}
const SIZE_VOLUME: Unwatched<ResizerVolume> = {
  ...IDENTITY,
  claimUid: 'a volume of another claim is waited for as a cause',
  key: 'another object is added',
  kind: 'the source of a volume is immutable',
}
const CLASS_CLAIM: Unwatched<ResizerClaim> = {
  ...IDENTITY,
  resourceVersion: 'guards a patch, which is sent again when it is refused',
  conditions: 'written, never waited for',
  allocated: KEPT,
  capacity: KEPT,
  noNodeExpansion: KEPT,
  otherStatuses: KEPT,
  sizeStatus: KEPT,
  volumeName: 'a claim is bound when its phase changes',
}
const CLASS_VOLUME: Unwatched<ResizerVolume> = {
  kind: 'the source of a volume is immutable',
  source: 'the source of a volume is immutable',
}

/** Explores all states of the exhaustive models, and records the fields that their functions read. */
describe('watched fields', () => {
  it('every field that the size decision reads is watched for changes, apart from listed exceptions', () => {
    const reads = { claim: new Set<string>(), volume: new Set<string>() }
    const watched = { claim: new Set<string>(), volume: new Set<string>() }
    const { onClaim, onVolume, decideResize } = REAL_SIZE
    explore(
      new SizeModel({
        ...REAL_SIZE,
        sizes: [1, 2],
        faults: false,
        onClaim: (event, queue) => onClaim(recordingEvent(event, watched.claim), queue),
        onVolume: (event, queue) => onVolume(recordingEvent(event, watched.volume), queue),
        decideResize: (view) => decideResize(recorded(view, reads)),
      }),
    )
    expect(unwatched(reads.claim, watched.claim)).toEqual(Object.keys(SIZE_CLAIM).sort())
    expect(unwatched(reads.volume, watched.volume)).toEqual(Object.keys(SIZE_VOLUME).sort())
  })

  it('every field that the class decision reads is watched for changes, apart from listed exceptions', () => {
    const reads = { claim: new Set<string>(), volume: new Set<string>() }
    const watched = new Set<string>()
    const { onClaim, decideModify } = REAL_CLASS
    explore(
      new ClassModel({
        ...REAL_CLASS,
        faults: false,
        onClaim: (event) => onClaim(recordingEvent(event, watched)),
        decideModify: (view) => decideModify(recorded(view, reads)),
      }),
    )
    expect(unwatched(reads.claim, watched)).toEqual(Object.keys(CLASS_CLAIM).sort())
    expect(unwatched(reads.volume, new Set())).toEqual(Object.keys(CLASS_VOLUME).sort())
  })
})

function unwatched(reads: ReadonlySet<string>, watched: ReadonlySet<string>): readonly string[] {
  return [...reads].filter((field) => !watched.has(field)).sort()
}

function recorded<V extends { readonly claim: ResizerClaim; readonly volume: ResizerVolume | undefined }>(
  view: V,
  reads: { readonly claim: Set<string>; readonly volume: Set<string> },
): V {
  const volume = view.volume && recordingReads(view.volume, reads.volume)
  return { ...view, claim: recordingReads(view.claim, reads.claim), volume }
}
