import { ok } from 'node:assert'
import { networkInterfaces } from 'node:os'
import { PODS } from '@csi-sidecars/kube-types'
import { pod } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { TestedApp } from '../../harness/subject.ts'

/** The pod that the Lease of a sidecar names as its holder. `args` are the arguments of the sidecar's container. */
export interface Leader {
  readonly name: string
  readonly args?: readonly string[]
  readonly status: object
}

/** Creates the pod of a leader, with the status that a kubelet would report. */
export async function createLeader(t: TestContext, app: TestedApp, { name, args, status }: Leader): Promise<void> {
  const containers = [
    { name: `csi-${app}`, image: 'none', args },
    { name: 'csi-driver', image: 'none' },
  ]
  await t.create(PODS, { ...pod('default', name, []), spec: { containers } })
  await t.api.merge(PODS, { namespace: 'default', name, subresource: 'status' }, { status })
}

/** Returns the status of a pod whose processes run on this machine. Fails if the machine has only loopback addresses. */
export function ofThisMachine(): object {
  const address = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
  ok(address !== undefined, 'the API server proxies to no loopback address: a machine with another one is needed')
  return { podIP: address, podIPs: [{ ip: address }] }
}
