import { NODES, PODS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { addBoundVolume, attachmentOn, VOLUME_NAME } from './bound-volume.ts'
import { inDefault, podOf, startTestCluster, type TestCluster } from './cluster.ts'

export const ON_1 = attachmentOn('node-1')
export const ON_2 = attachmentOn('node-2')

/** Starts a cluster with the attach/detach controller, an attacher and a bound claim, but without kubelets. */
export async function attachDetachOnly(
  modes = ['ReadWriteOnce'],
  { kubernetesMinor }: { readonly kubernetesMinor?: number } = {},
): Promise<TestCluster> {
  const test = await startTestCluster({
    controllers: ['attach-detach'],
    kubernetesMinor,
    substitutes: ['csi-attacher'],
  })
  addBoundVolume(test, { modes })
  return test
}

export const isAttached = (va: VolumeAttachment | undefined): boolean => va?.status?.attached === true

/** Ends a pod and deletes it, as a kubelet does. */
export async function removePod({ api, untilGone }: TestCluster, name: string): Promise<void> {
  api.update(PODS, inDefault(name), (old) => ({ ...old, status: { ...old.status, phase: 'Succeeded' } }))
  api.delete(PODS, inDefault(name))
  await untilGone(PODS, inDefault(name))
}

export async function attachedTo1(test: TestCluster): Promise<void> {
  test.api.create(PODS, podOf('app', 'node-1', 'data'))
  await test.until(NODES, { name: 'node-1' }, (node) => node?.status?.volumesAttached?.[0]?.name === VOLUME_NAME)
}

export const deletes = ({ api }: TestCluster) =>
  api.requests.matching({ verb: 'delete', resource: 'volumeattachments' })
