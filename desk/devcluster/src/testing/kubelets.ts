import { PODS } from '@csi-sidecars/kube-types'
import { addBoundVolume, attach, type BoundVolumeOptions } from './bound-volume.ts'
import { inDefault, isRunning, podOf, startTestCluster, type TestCluster } from './cluster.ts'

/** Starts a cluster with kubelets only. The test itself acts for all other controllers. */
export async function kubeletsOnly(
  options: BoundVolumeOptions & { readonly data?: string } = {},
): Promise<TestCluster> {
  const test = await startTestCluster({ controllers: ['volume-manager'], substitutes: [], data: options.data })
  addBoundVolume(test, options)
  return test
}

export const nodeCalls = ({ driver }: TestCluster): string[] =>
  driver.calls.flatMap(({ method, code }) =>
    /^Node.*Volume$/.test(method) ? [code === 0 ? method : `${method} ${code}`] : [],
  )

export async function runningPod(test: TestCluster): Promise<void> {
  test.api.create(PODS, podOf('app', 'node-1', 'data'))
  attach(test, 'node-1')
  await test.until(PODS, inDefault('app'), isRunning)
}
