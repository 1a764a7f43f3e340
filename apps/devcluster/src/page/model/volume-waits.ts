import { isTerminated } from '../../caches/pod.ts'
import { uniqueVolumeName } from '../../volume-names.ts'
import { kubeletOf } from './actors.ts'
import { failing } from './claim-waits.ts'
import { detaching } from './pod-waits.ts'
import type { RowView, WaitNow } from './view.ts'

/** What a volume waits for that is to leave nodes, or the cluster. */
export function volumeWaits(view: RowView): readonly WaitNow[] {
  return [...leaving(view), ...deletion(view)]
}

/** Attachments that no pod needs any more. */
function leaving(view: RowView): readonly WaitNow[] {
  const { volume, attachments, pods, failure } = view
  return attachments.flatMap((attachment): WaitNow[] => {
    const { nodeName, deleting } = attachment
    const isWanted = pods.some((pod) => pod.nodeName === nodeName && !isTerminated(pod))
    if (isWanted) return []
    const about = `volume ${volume?.key ?? ''} on ${nodeName}`
    if (deleting) return [{ ...detaching(attachment, view, `detaches it from ${nodeName}`), about }]
    const who = kubeletOf(nodeName)
    const failed = failure(who, 'NodeUnpublishVolume', 'NodeUnstageVolume')
    if (failed !== undefined) return [{ who, about, ...failing(failed, 'the volume is not unmounted') }]
    const name = volume?.csi && uniqueVolumeName(volume.csi)
    const isInUse = name !== undefined && view.node(nodeName)?.volumesInUse.includes(name) === true
    if (isInUse) return [{ who, level: 'works', about, why: `unmounts it on ${nodeName}` }]
    return [{ who: 'attach-detach', level: 'works', about, why: `asks for its detach from ${nodeName}` }]
  })
}

/** A volume whose claim is gone. */
function deletion({ claim, volume, attachments, failure }: RowView): readonly WaitNow[] {
  if (claim !== undefined || volume === undefined) return []
  const { key, phase, reclaimPolicy } = volume
  if (phase !== 'Released' && phase !== 'Failed') return []
  const about = `volume ${key}`
  if (reclaimPolicy === 'Retain') {
    return [{ who: 'you', level: 'waits', about, why: 'its claim is gone, and its reclaim policy Retain keeps it' }]
  }
  if (attachments.length > 0) return [{ who: 'provisioner', level: 'waits', about, why: 'it is still attached' }]
  const failed = failure('provisioner', 'DeleteVolume')
  if (failed !== undefined) return [{ who: 'provisioner', about, ...failing(failed, 'the driver does not delete it') }]
  if (phase === 'Failed') return [{ who: 'provisioner', level: 'trouble', about, why: 'it cannot be deleted' }]
  return [{ who: 'provisioner', level: 'works', about, why: 'deletes it' }]
}
