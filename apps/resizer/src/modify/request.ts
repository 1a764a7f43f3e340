import type { ControllerModifyVolumeRequest } from '@csi-sidecars/csi-proto'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { claimRef } from '../caches/claim.ts'
import { loadSecret, secretRefOf } from '../claim/secret.ts'
import type { Modification } from './run.ts'

const CLAIM_NAME = 'csi.storage.k8s.io/pvc/name'
const CLAIM_NAMESPACE = 'csi.storage.k8s.io/pvc/namespace'
const VOLUME_NAME = 'csi.storage.k8s.io/pv/name'

/** The call of a modification. Its Secret is the one for modifications, else the one for expansions. */
export async function modifyRequest(
  { claim, volume, target }: Modification,
  { api, extraMetadata }: { readonly api: Pick<KubeClient, 'get'>; readonly extraMetadata: boolean },
  signal: AbortSignal,
): Promise<ControllerModifyVolumeRequest> {
  const csi = volume.source?.spec?.csi
  if (!csi?.volumeHandle) throw new Error('empty volume handle')
  const ref = volume.modifySecret ?? secretRefOf(csi.controllerExpandSecretRef)
  const secrets = await loadSecret(api, ref, signal)
  const mutableParameters = { ...target.parameters }
  if (extraMetadata) {
    const { namespace, name } = claimRef(claim)
    Object.assign(mutableParameters, { [CLAIM_NAME]: name, [CLAIM_NAMESPACE]: namespace, [VOLUME_NAME]: volume.key })
  }
  return { volumeId: csi.volumeHandle, secrets, mutableParameters }
}
