import type { Driver } from '@csi-sidecars/csi'
import { ControllerServiceCapability_RPC_Type as ControllerRpc } from '@csi-sidecars/csi-proto'
import type { Lookups } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'

/**
 * Returns the handle of the volume to clone, or undefined if the claim requests no clone. Throws the error message of
 * the provisioner if the clone is not possible now; the caller retries.
 */
export function sourceHandle(
  { cloneOf, namespace, className }: Claim,
  { claims, volumes }: Pick<Lookups, 'claims' | 'volumes'>,
  driver: Pick<Driver, 'name' | 'capabilities'>,
): string | undefined {
  if (cloneOf === '') return undefined
  const fail = (why: string): Error =>
    new Error(`error getting handle for DataSource Type PersistentVolumeClaim by Name ${cloneOf}: ${why}`)
  if (!driver.capabilities.controller.has(ControllerRpc.CLONE_VOLUME)) {
    throw fail('CSI driver does not support clone operations')
  }
  const source = claims.store.get(`${namespace}/${cloneOf}`)
  if (source === undefined) throw fail(`error getting PVC ${cloneOf} (namespace "${namespace}") from api server`)
  if (source.deleting) throw fail(`the PVC DataSource ${cloneOf} is currently being deleted`)
  if (source.className !== className)
    throw fail('the source PVC and destination PVCs must be in the same storage class for cloning')
  const volume = volumes.store.get(source.volumeName)
  if (source.phase !== 'Bound' || volume?.csi === undefined) {
    throw fail(`the PVC DataSource ${cloneOf} must have a status of Bound.  Got ${source.phase}`)
  }
  if (volume.csi.driver !== driver.name) throw fail('the source volume is of another driver')
  return volume.csi.volumeHandle
}
