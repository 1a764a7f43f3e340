import type { PersistentVolumeClaim } from '@csi-sidecars/kube-types'
import { claimNamesOf, type Facts, isRunning, type Ref, refOf } from '../facts/facts.ts'

/** The pods that use a claim and have not ended. */
export function usersOf({ metadata }: PersistentVolumeClaim, { pods }: Pick<Facts, 'pods'>): readonly Ref[] {
  return pods
    .filter(
      (pod) =>
        pod.metadata?.namespace === metadata?.namespace &&
        isRunning(pod) &&
        claimNamesOf(pod).includes(metadata?.name ?? ''),
    )
    .map((pod) => refOf('Pod', pod))
}
