import { boundVolume } from '../attach-detach/resolve.ts'
import { CLAIM_PROTECTION } from '../caches/annotations.ts'
import type { Lookups } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { CachedPod, PodVolume } from '../caches/pod.ts'
import type { Volume } from '../caches/volume.ts'
import { ephemeralHandle, uniqueVolumeName } from '../volume-names.ts'
import type { MountSource, PodMount } from './desired-state.ts'

/** A volume of a pod, as far as its mount is concerned. */
export type Resolved =
  | {
      readonly is: 'mountable'
      readonly source: MountSource
      readonly mount: PodMount
      readonly capacity: string | undefined
    }
  /** No container mounts it, so nobody does. */
  | { readonly is: 'unused' }
  /** Something is not there yet; its news bring the pod back. */
  | { readonly is: 'unready'; readonly why: string }
  /** The pod asks for what cannot be. */
  | { readonly is: 'refused'; readonly why: string }

export function resolveVolumes(pod: CachedPod, stores: Lookups): readonly Resolved[] {
  return pod.volumes.map((volume) => {
    if (!pod.use.mounts.has(volume.name) && !pod.use.devices.has(volume.name)) return { is: 'unused' }
    return volume.is === 'claim' ? resolveClaim(pod, volume, stores) : resolveOwn(pod, volume)
  })
}

function resolveOwn(pod: CachedPod, volume: Exclude<PodVolume, { is: 'claim' }>): Resolved {
  const { name } = volume
  if (volume.is === 'local') return mountable(pod, localSource(volume.plugin, name, pod))
  const { source } = volume
  const handle = ephemeralHandle(pod.uid, name)
  const volumeName = `kubernetes.io/csi/${pod.uid}-${name}`
  return mountable(pod, { is: 'ephemeral', volumeName, name, handle, source }, { readOnly: source.readOnly === true })
}

function localSource(plugin: string, name: string, { uid }: CachedPod): MountSource {
  return { is: 'local', volumeName: `kubernetes.io/${plugin}/${uid}-${name}`, name, plugin }
}

function resolveClaim(pod: CachedPod, volume: Extract<PodVolume, { is: 'claim' }>, stores: Lookups): Resolved {
  const key = `${pod.namespace}/${volume.claim}`
  const claim = stores.claims.store.get(key)
  if (claim === undefined) return { is: 'unready', why: `persistentvolumeclaim "${volume.claim}" not found` }
  if (volume.ephemeral && claim.ownerUid !== pod.uid) {
    return { is: 'refused', why: `PVC ${key} was not created for pod ${pod.key} (pod is not owner)` }
  }
  if (claim.deleting && claim.finalizers?.includes(CLAIM_PROTECTION) !== true) {
    return { is: 'refused', why: `error processing PVC ${key}: PVC is being deleted` }
  }
  const bound = boundVolume(claim, stores)
  if (bound === undefined) return { is: 'unready', why: `error processing PVC ${key}: PVC is not bound` }
  const wrong = wrongMode(pod, volume.name, bound)
  if (wrong !== undefined) return { is: 'refused', why: wrong }
  const { readOnly } = volume
  if (bound.csi === undefined) return mountable(pod, localSource('persistentVolume', bound.key, pod), { readOnly })
  return mountable(pod, csiSource(bound, claim, stores), { readOnly, capacity: bound.capacity })
}

function wrongMode(pod: CachedPod, name: string, { volumeMode }: Volume): string | undefined {
  if (pod.use.mounts.has(name) && volumeMode === 'Block') {
    return `volume ${name} has volumeMode Block, but is specified in volumeMounts`
  }
  if (pod.use.devices.has(name) && volumeMode === 'Filesystem') {
    return `volume ${name} has volumeMode Filesystem, but is specified in volumeDevices`
  }
  return undefined
}

function csiSource(volume: Volume, claim: Claim, { drivers }: Lookups): MountSource {
  const { key: name, csi, accessModes, mountOptions, volumeMode } = volume
  if (csi === undefined) throw new TypeError(`${name} is no CSI volume`)
  return {
    is: 'csi',
    volumeName: uniqueVolumeName(csi),
    name,
    csi,
    accessModes,
    mountOptions,
    block: volumeMode === 'Block',
    attach: drivers.store.get(csi.driver)?.attachRequired !== false,
    claim: claim.key,
  }
}

function mountable(
  pod: CachedPod,
  source: MountSource,
  { readOnly = false, capacity }: { readOnly?: boolean; capacity?: string } = {},
): Resolved {
  const { uid: podUid, key: podKey, namespace, name: podName, serviceAccount } = pod
  const mount = { podUid, podKey, namespace, podName, serviceAccount, readOnly }
  return { is: 'mountable', source, mount, capacity }
}
