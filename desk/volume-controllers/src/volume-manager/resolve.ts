import { boundVolume, needsAttach } from '../attach-detach/resolve.ts'
import type { Lookups } from '../caches/caches.ts'
import { CLAIM_PROTECTION } from '../caches/metadata.ts'
import type { CachedPod, PodVolume } from '../caches/pod.ts'
import type { CachedDriver } from '../caches/storage.ts'
import { attachModesOf, csiSourceOf, type Volume } from '../caches/volume.ts'
import { ephemeralHandle, uniqueVolumeName } from '../volume-names.ts'
import type { MountSource, PodMount } from './desired-state.ts'

/** The result of resolving a volume of a pod for its mount. */
export type ResolvedVolume =
  | {
      readonly kind: 'mountable'
      readonly source: MountSource
      readonly mount: PodMount
      readonly capacity: string | undefined
    }
  /** No container uses the volume, so it is not mounted. */
  | { readonly kind: 'unused' }
  /** An object is missing or not bound yet. Its event enqueues the pod again. */
  | { readonly kind: 'unready'; readonly why: string }
  /** The pod asks for something that is not allowed, for example a claim that is being deleted. */
  | { readonly kind: 'refused'; readonly why: string }

export function resolveVolumes(pod: CachedPod, stores: Lookups): readonly ResolvedVolume[] {
  return pod.volumes.map((volume) => {
    if (!pod.use.mounts.has(volume.name) && !pod.use.devices.has(volume.name)) return { kind: 'unused' }
    return volume.kind === 'claim' ? resolveClaim(pod, volume, stores) : resolveOwn(pod, volume, stores)
  })
}

function resolveOwn(
  pod: CachedPod,
  volume: Exclude<PodVolume, { kind: 'claim' }>,
  { drivers }: Lookups,
): ResolvedVolume {
  const { name } = volume
  if (volume.kind === 'local') return mountable(pod, localSource(volume.plugin, name, pod))
  const { source } = volume
  const wrong = wrongLifecycle(source.driver, drivers.store.get(source.driver))
  if (wrong !== undefined) {
    const failedStep = 'kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode'
    return { kind: 'refused', why: `MountVolume.SetUp failed for volume "${name}" : ${failedStep}: ${wrong}` }
  }
  const handle = ephemeralHandle(pod.uid, name)
  const volumeName = `kubernetes.io/csi/${pod.uid}-${name}`
  return mountable(pod, { kind: 'ephemeral', volumeName, name, handle, source }, { readOnly: source.readOnly === true })
}

/** Returns why a driver may not serve inline volumes; undefined if it may. Drivers must allow them explicitly. */
function wrongLifecycle(name: string, driver: CachedDriver | undefined): string | undefined {
  const why = `volume mode "Ephemeral" not supported by driver ${name}`
  if (driver === undefined) return `${why} (no CSIDriver object)`
  if (driver.lifecycleModes.includes('Ephemeral')) return undefined
  return `${why} (only supports ${JSON.stringify(driver.lifecycleModes).replaceAll(',', ' ')})`
}

function localSource(plugin: string, name: string, { uid }: CachedPod): MountSource {
  return { kind: 'local', volumeName: `kubernetes.io/${plugin}/${uid}-${name}`, name, plugin }
}

function resolveClaim(pod: CachedPod, volume: Extract<PodVolume, { kind: 'claim' }>, stores: Lookups): ResolvedVolume {
  const key = `${pod.namespace}/${volume.claim}`
  const claim = stores.claims.store.get(key)
  if (claim === undefined) return { kind: 'unready', why: `persistentvolumeclaim "${volume.claim}" not found` }
  if (volume.ephemeral && claim.ownerUid !== pod.uid) {
    return { kind: 'refused', why: `PVC ${key} was not created for pod ${pod.key} (pod is not owner)` }
  }
  if (claim.deleting && claim.finalizers?.includes(CLAIM_PROTECTION) !== true) {
    return { kind: 'refused', why: `error processing PVC ${key}: PVC is being deleted` }
  }
  const pair = boundVolume(claim, stores)
  if (pair === undefined) return { kind: 'unready', why: `error processing PVC ${key}: PVC is not bound` }
  const wrong = wrongMode(pod, volume.name, pair)
  if (wrong !== undefined) return { kind: 'refused', why: wrong }
  const { readOnly } = volume
  const csi = csiSourceOf(pair)
  if (csi === undefined) return mountable(pod, localSource('persistentVolume', pair.key, pod), { readOnly })
  const { key: name, mountOptions, volumeMode } = pair
  const source: MountSource = {
    kind: 'csi',
    volumeName: uniqueVolumeName(csi),
    name,
    csi,
    accessModes: attachModesOf(pair),
    mountOptions,
    block: volumeMode === 'Block',
    attach: needsAttach(csi.driver, stores),
    claim: claim.key,
  }
  return mountable(pod, source, { readOnly, capacity: pair.capacity })
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

function mountable(
  pod: CachedPod,
  source: MountSource,
  { readOnly = false, capacity }: { readOnly?: boolean; capacity?: string } = {},
): ResolvedVolume {
  const { uid: podUid, key: podKey, namespace, name: podName, serviceAccount, fsGroup } = pod
  const mount = { podUid, podKey, namespace, podName, serviceAccount, readOnly, fsGroup }
  return { kind: 'mountable', source, mount, capacity }
}
