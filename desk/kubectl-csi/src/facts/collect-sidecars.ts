import { type Lease, PODS, type Pod } from '@csi-sidecars/kube-types'
import type { FactCollection } from './collection.ts'
import { objectOf } from './facts.ts'
import { leaseKey, sidecarWord } from './leases.ts'

/** The pods to read for a Lease without a holder: none (`holders`), or all that may be the sidecar (`namespaces`). */
export type Reach = 'holders' | 'namespaces'

export type SidecarContainer = NonNullable<NonNullable<Pod['spec']>['containers']>[number]

/** Reads the pod that holds each Lease. `reach` selects the pods for a Lease without a holder. */
export async function collectSidecarPods(into: FactCollection, reach: Reach): Promise<void> {
  await Promise.all(
    into.sidecarLeases.map(async (lease) => {
      const pods = await podsOf(lease, into, reach)
      into.sidecarPods.set(leaseKey(lease), pods)
    }),
  )
}

async function podsOf(lease: Lease, into: FactCollection, reach: Reach): Promise<readonly Pod[]> {
  const { namespace, name = '' } = lease.metadata ?? {}
  const holder = lease.spec?.holderIdentity ?? ''
  if (holder !== '') {
    const seen = await into.reader.get(PODS, { namespace, name: holder })
    if (seen.kind === 'absent') into.holdersGone.add(leaseKey(lease))
    const pod = objectOf(seen)
    return pod === undefined ? [] : [pod]
  }
  if (reach === 'holders') return []
  const where = (pod: Pod): boolean => containersOf(pod, name).length > 0
  return (await into.reader.list(PODS, { namespace, where })) ?? []
}

/** Returns the containers that may be the sidecar of a Lease, according to their names, images and commands. */
export function containersOf({ spec }: Pod, lease: string): readonly SidecarContainer[] {
  // regex-bounded: the expression consists of two fixed words
  const pattern = new RegExp(`${sidecarWord(lease)}|csi-sidecars`)
  return (spec?.containers ?? []).filter(({ name, image = '', command = [] }) =>
    pattern.test(`${name} ${image} ${command.join(' ')}`),
  )
}
