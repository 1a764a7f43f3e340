import type { VolumeContentSource } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import type { ProvisionerClaim } from '../caches/claim.ts'
import type { Class } from '../caches/cluster.ts'
import { bytesOf } from '../request/request.ts'
import type { ClaimWakeEvent } from '../request/wake-events.ts'
import { type ClaimSource, sourceError } from './data-source.ts'

/** A claim whose volume is a copy of the volume of another claim. */
export interface CloneRequest {
  readonly claim: ProvisionerClaim
  readonly class: Class
  readonly source: ClaimSource
  /** The source claim from the cache. Undefined if it does not exist. */
  readonly original: ProvisionerClaim | undefined
}

/** Checks the source claim, and returns it. Throws ProvisionError. */
export function checkOriginal({ claim, source, original }: CloneRequest): ProvisionerClaim {
  const { namespace, name } = source
  const fail = (why: string): never => {
    throw sourceError(source, why)
  }
  if (original === undefined) {
    return fail(
      `error getting PVC ${name} (namespace "${namespace}") from api server: persistentvolumeclaim "${name}" not found`,
    )
  }
  if (original.phase !== 'Bound') {
    fail(`the PVC DataSource ${name} must have a status of Bound.  Got {${original.phase ?? ''}${REST_OF_STATUS}}`)
  }
  if (original.deleting) fail(`the PVC DataSource ${name} is currently being deleted`)
  if (original.classField === undefined) fail(`the source PVC (${name}) storageclass cannot be empty`)
  if (claim.classField === undefined)
    fail(`the requested PVC (${namespacedRef(claim.key).name}) storageclass cannot be empty`)
  const [requested, size] = [bytesOf(claim.size), bytesOf(original.size)]
  if (requested < size) {
    const sizes = `requested ${requested} but source is ${size}`
    fail(`error, new PVC request must be greater than or equal in size to the specified PVC data source, ${sizes}`)
  }
  if (original.volumeName === '') fail(`volume name is empty in source PVC ${name}`)
  return original
}

/** Reads the volume of the source claim from the API server, because the cache may lag. Throws ProvisionError. */
export async function cloneSource(
  clone: CloneRequest,
  api: Pick<KubeClient, 'get'>,
  signal: AbortSignal,
): Promise<VolumeContentSource> {
  const { claim, class: storageClass, source } = clone
  const original = checkOriginal(clone)
  const waitsFor: readonly ClaimWakeEvent[] = [{ kind: 'volume', name: original.volumeName }]
  const pv = await api.get(PERSISTENT_VOLUMES, { name: original.volumeName }, { signal }).catch((cause: unknown) => {
    signal.throwIfAborted()
    throw sourceError(source, UNUSABLE_SOURCE, { cause, waitsFor })
  })
  if (!isVolumeOf(pv, original, storageClass)) throw sourceError(source, UNUSABLE_SOURCE, { waitsFor })
  const [from, to] = [pv.spec?.volumeMode ?? 'Filesystem', claim.requestedVolume?.volumeMode ?? 'Filesystem']
  if (from !== to) {
    const modes = `Source is ${from}, but new PVC requested ${to}`
    const why = `the source PVC and destination PVCs must have the same volume mode for cloning.  ${modes}`
    throw sourceError(source, why, { waitsFor })
  }
  return { type: { $case: 'volume', value: { volumeId: pv.spec?.csi?.volumeHandle ?? '' } } }
}

/** The other fields of the status of an unbound claim, as Go prints them. */
const REST_OF_STATUS = ' [] map[] [] map[] map[] <nil> nil'

const UNUSABLE_SOURCE = 'claim in dataSource not bound or invalid'

function isVolumeOf({ spec, status }: PersistentVolume, original: ProvisionerClaim, { provisioner }: Class): boolean {
  const { namespace, name } = namespacedRef(original.key)
  const claim = spec?.claimRef
  const isOriginal = claim?.uid === original.uid && claim.namespace === namespace && claim.name === name
  return spec?.csi?.driver === provisioner && isOriginal && status?.phase === 'Bound'
}
