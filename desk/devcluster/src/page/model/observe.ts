import type { EventText } from '@csi-sidecars/events'
import {
  ATTACHMENTS_BY_VOLUME,
  type CachedPod,
  type Caches,
  type Claim,
  claimKeyOf,
  claimKeysOf,
  csiVolumeOf,
  decideClaim,
  handleKey,
  observeClaim,
  PODS_BY_CLAIM,
  PODS_BY_NODE,
  SNAPSHOTS_BY_CLAIM,
  VOLUMES_BY_CLAIM,
  VOLUMES_BY_HANDLE,
  type Volume,
} from '@csi-sidecars/volume-controllers'
import type { RowView } from './waits.ts'

const CLAIM = 'claim/'
const VOLUME = 'volume/'
const POD = 'pod/'

export type ObjectView = Omit<RowView, 'failure' | 'warning'>

/** Returns the cached objects of a row of the page. A bound volume belongs to the row of its claim. */
export function observe(id: string, caches: Caches): ObjectView {
  const { claims, attachments, pods } = caches
  const claim = id.startsWith(CLAIM) ? claims.store.get(id.slice(CLAIM.length)) : undefined
  const volume = claim === undefined ? ownVolume(id, caches) : volumeOfClaim(claim, caches)
  const pod = id.startsWith(POD) ? pods.store.get(id.slice(POD.length)) : undefined
  const users = id.startsWith(CLAIM) ? pods.store.byIndex(PODS_BY_CLAIM, id.slice(CLAIM.length)) : []
  const driver = volume?.csi && caches.drivers.store.get(volume.csi.driver)
  return {
    claimKey: id.startsWith(CLAIM) ? id.slice(CLAIM.length) : undefined,
    claim,
    volume,
    attachments: volume === undefined ? [] : attachments.store.byIndex(ATTACHMENTS_BY_VOLUME, volume.key),
    pods: pod === undefined || claimKeysOf(pod).length > 0 ? users : [pod],
    snapshots:
      claim === undefined ? [] : (caches.snapshotCaches?.snapshots.store.byIndex(SNAPSHOTS_BY_CLAIM, claim.key) ?? []),
    binding: claim?.phase === 'Pending' ? bindingOf(claim, caches) : undefined,
    attaches: driver?.attachRequired !== false,
    node: (name) => caches.nodes.store.get(name),
  }
}

function ownVolume(id: string, { claims, volumes }: Caches): Volume | undefined {
  const volume = id.startsWith(VOLUME) ? volumes.store.get(id.slice(VOLUME.length)) : undefined
  const owner = volume?.claimRef && claims.store.get(claimKeyOf(volume.claimRef))
  if (volume === undefined || owner === undefined) return volume
  return isOf(volume, owner) ? undefined : volume
}

/** Reports whether the claim is bound to the volume, or the volume was created for it. */
function isOf({ key, claimRef }: Volume, { volumeName, uid }: Claim): boolean {
  return volumeName === key || (volumeName === '' && claimRef?.uid === uid)
}

function volumeOfClaim(claim: Claim, { volumes }: Caches): Volume | undefined {
  if (claim.volumeName !== '') {
    const named = volumes.store.get(claim.volumeName)
    const isAnothers = named?.claimRef?.uid !== undefined && named.claimRef.uid !== claim.uid
    return isAnothers ? undefined : named
  }
  return volumes.store.byIndex(VOLUMES_BY_CLAIM, claim.key).find((volume) => isOf(volume, claim))
}

/** Returns the event that a PV controller would record on the claim now. */
function bindingOf({ key }: Claim, caches: Caches): EventText | undefined {
  const view = observeClaim(key, caches)
  const report = view && decideClaim(view).find((step) => step.kind === 'report')
  return report?.event
}

/** Returns the IDs of the rows that may show a volume: the row of its claim, and a separate row. */
export function rowsOfVolume({ key, claimRef }: Pick<Volume, 'key' | 'claimRef'>): readonly string[] {
  return claimRef === undefined ? [VOLUME + key] : [CLAIM + claimKeyOf(claimRef), VOLUME + key]
}

export function rowsOfClaim(
  { key, volumeName }: Pick<Claim, 'key' | 'volumeName'>,
  { volumes }: Caches,
): readonly string[] {
  const named = volumeName === '' ? [] : [VOLUME + volumeName]
  const reserved = volumes.store.byIndex(VOLUMES_BY_CLAIM, key).map((volume) => VOLUME + volume.key)
  return [CLAIM + key, ...named, ...reserved]
}

/** Returns the IDs of the rows of a pod: one for each of its claims. A pod without claims has a separate row. */
export function rowsOfPod(pod: Pick<CachedPod, 'key' | 'namespace' | 'volumes'>): readonly string[] {
  const keys = claimKeysOf(pod)
  return keys.length === 0 ? [POD + pod.key] : keys.map((key) => CLAIM + key)
}

export function rowsOfPodsOn(node: string, { pods }: Caches): readonly string[] {
  return pods.store.byIndex(PODS_BY_NODE, node).flatMap(rowsOfPod)
}

/** Returns the rows of a volume by its name in node statuses, `kubernetes.io/csi/DRIVER^HANDLE`. */
export function rowsOfVolumeName(name: string, { volumes }: Caches): readonly string[] {
  const csi = csiVolumeOf(name)
  return csi === undefined ? [] : volumes.store.byIndex(VOLUMES_BY_HANDLE, handleKey(csi)).flatMap(rowsOfVolume)
}

export function rowsOfAttachment(pvName: string | undefined, { volumes }: Caches): readonly string[] {
  const volume = pvName === undefined ? undefined : volumes.store.get(pvName)
  return volume === undefined ? [] : rowsOfVolume(volume)
}

export function allRows(caches: Caches): ReadonlySet<string> {
  return new Set([
    ...[...caches.claims.store.values()].map(({ key }) => CLAIM + key),
    ...[...caches.volumes.store.values()].flatMap(rowsOfVolume),
    ...[...caches.pods.store.values()].flatMap(rowsOfPod),
  ])
}

export function pendingClaimRows({ claims }: Caches): readonly string[] {
  return [...claims.store.values()].filter(({ phase }) => phase === 'Pending').map(({ key }) => CLAIM + key)
}
