import { MIGRATED_TO, PROVISIONED_BY } from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { IN_TREE_PREFIX } from './migrate.ts'
import { isRecyclable } from './scrubber.ts'

/** A volume and all inputs of its next step, at one moment. */
export interface ReclaimView {
  readonly volume: Volume
  /** The claim with the name in the reference, whatever its UID. Undefined if there is none. */
  readonly claim: Claim | undefined
  /** The pods that use a claim with the name in the reference and are not terminated. */
  readonly users: readonly string[]
  /** The pod that scrubs the volume, if the API has one. */
  readonly scrubber: Pick<CachedPod, 'uid' | 'phase' | 'message'> | undefined
  /** The UID of the scrubber that this controller has created and waits for. */
  readonly begun: string | undefined
}

export type ReclaimStep =
  | { readonly do: 'fail'; readonly reason: string; readonly message: string }
  | { readonly do: 'report'; readonly reason: string; readonly message: string }
  /** Deletes the PersistentVolume, because no storage is left. */
  | { readonly do: 'remove' }
  | { readonly do: 'scrub' }
  /** Deletes the scrubber, which has ended or was created by another run. */
  | { readonly do: 'endScrub' }
  /** Makes the scrubbed volume available again. */
  | { readonly do: 'free' }

/** Plans the end of a released volume by its reclaim policy. A retained volume waits for an administrator. */
export function decideReclaim(view: ReclaimView): readonly ReclaimStep[] {
  const { volume } = view
  if (volume.annotations[MIGRATED_TO]) return []
  if (volume.reclaimPolicy === 'Recycle') return decideRecycle(view)
  return volume.reclaimPolicy === 'Delete' ? decideDelete(volume) : []
}

const HOST_PATH = `${IN_TREE_PREFIX}host-path`
const NFS = `${IN_TREE_PREFIX}nfs`
const FAILED_DELETE = 'VolumeFailedDelete'

/** Plans the deletion of a volume. Its provisioner deletes it; without a provisioner, its plugin does. */
function decideDelete({ key, annotations, csi, inTree }: Volume): readonly ReclaimStep[] {
  const fail = (message: string): readonly ReclaimStep[] => [{ do: 'fail', reason: FAILED_DELETE, message }]
  const provisioner = annotations[PROVISIONED_BY]
  if (provisioner) {
    if (!provisioner.startsWith(IN_TREE_PREFIX)) return []
    if (provisioner === NFS) return fail('no deletable volume plugin matched')
    if (provisioner !== HOST_PATH) return fail(`no volume plugin matched name: ${provisioner}`)
  } else {
    if (csi !== undefined) return []
    const why = `error getting deleter volume plugin for volume "${key}"`
    if (inTree?.is === 'nfs') return fail(`${why}: no deletable volume plugin matched`)
    if (inTree?.is !== 'hostPath') return fail(`${why}: no volume plugin matched`)
  }
  if (inTree?.is !== 'hostPath') {
    return fail(`failed to create deleter for volume "${key}": spec.PersistentVolumeSource.HostPath is nil`)
  }
  if (!/\/tmp\/.+/.test(inTree.path)) {
    return fail(`host_path deleter only supports /tmp/.+ but received provided ${inTree.path}`)
  }
  // The files under this path belong to the machine and not to the cluster, so they stay.
  return [{ do: 'remove' }]
}

const FAILED_RECYCLE = 'VolumeFailedRecycle'

function decideRecycle({ volume, claim, users, scrubber, begun }: ReclaimView): readonly ReclaimStep[] {
  const failed = (why: string): readonly ReclaimStep[] => [
    { do: 'endScrub' },
    { do: 'fail', reason: FAILED_RECYCLE, message: `Recycle failed: ${why}` },
  ]
  if (begun !== undefined) {
    if (scrubber?.uid !== begun) return failed('failed to recycle volume: recycler pod was deleted')
    if (scrubber.phase === 'Succeeded') {
      const done: ReclaimStep = { do: 'report', reason: 'VolumeRecycled', message: 'Volume recycled' }
      return [{ do: 'endScrub' }, done, { do: 'free' }]
    }
    if (scrubber.phase !== 'Failed') return []
    return failed(`failed to recycle volume: ${scrubber.message || 'pod failed, pod.Status.Message unknown'}`)
  }
  // If a claim of the same name exists again, the pods use the new claim.
  if (users.length > 0 && claim === undefined) {
    return [{ do: 'report', reason: FAILED_RECYCLE, message: `Volume is used by pods: ${users.join(',')}` }]
  }
  if (!isRecyclable(volume)) {
    return [{ do: 'fail', reason: FAILED_RECYCLE, message: 'No recycler plugin found for the volume!' }]
  }
  return scrubber === undefined ? [{ do: 'scrub' }] : failed('old recycler pod found, will retry later')
}
