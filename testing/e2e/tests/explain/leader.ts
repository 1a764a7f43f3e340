import { LEASES, type Lease, PODS, type Pod } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { leaseName } from '../../harness/subject.ts'

/** Waits until a leader holds the Lease, so that the Lease remains when the leader ends. */
export async function led(t: TestContext): Promise<void> {
  const held = ({ spec }: Lease): boolean => (spec?.holderIdentity ?? '') !== ''
  await t.api.until(LEASES, { namespace: 'default', name: leaseName('attacher', t.driverName) }, held)
}

interface Leader {
  readonly name: string
  readonly args?: readonly string[]
  readonly status: object
}

const container = (name: string, args: readonly string[] = []): object => ({ name, image: 'none', args })

/** Creates the pod of a leader, with the status that a kubelet would report. */
export async function createLeader(t: TestContext, { name, args, status }: Leader): Promise<void> {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: 'default', name },
    spec: {
      containers: [container('csi-attacher', args), container('csi-driver')] as NonNullable<Pod['spec']>['containers'],
    },
  }
  await t.create(PODS, pod)
  await t.api.merge(PODS, { namespace: 'default', name, subresource: 'status' }, { status })
}

const common = { image: 'none', imageID: 'none' }

export const DRIVER_CRASHES = {
  containerStatuses: [
    { ...common, name: 'csi-attacher', ready: true, restartCount: 0, state: { running: {} } },
    {
      ...common,
      name: 'csi-driver',
      ready: false,
      restartCount: 9,
      state: { waiting: { reason: 'CrashLoopBackOff' } },
    },
  ],
}
