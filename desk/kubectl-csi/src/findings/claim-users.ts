import type { PersistentVolumeClaim, Pod } from '@csi-sidecars/kube-types'
import { type ClusterFacts, claimKeysOf, isRunning, type KindRef, keyOf, refOf } from '../facts/facts.ts'

type Users = ReadonlyMap<string, readonly Pod[]>

/** A cache of the pods by claim, for each list of pods. A search for each claim would take too long. */
const usersOfPods = new WeakMap<readonly Pod[], Users>()

/** Returns the pods that use the claim `namespace/name` and have not ended. */
export function podsOf(claim: string, { pods }: Pick<ClusterFacts, 'pods'>): readonly Pod[] {
  const users = usersOfPods.get(pods) ?? usersIn(pods)
  usersOfPods.set(pods, users)
  return users.get(claim) ?? []
}

function usersIn(pods: readonly Pod[]): Users {
  const users = new Map<string, Pod[]>()
  for (const pod of pods.filter(isRunning)) {
    for (const key of new Set(claimKeysOf(pod))) {
      const others = users.get(key)
      if (others === undefined) users.set(key, [pod])
      else others.push(pod)
    }
  }
  return users
}

/** Returns references to the pods that use a claim and have not ended. */
export function usersOf(claim: PersistentVolumeClaim, facts: Pick<ClusterFacts, 'pods'>): readonly KindRef[] {
  return podsOf(keyOf(refOf('PersistentVolumeClaim', claim)), facts).map((pod) => refOf('Pod', pod))
}
