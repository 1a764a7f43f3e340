import { csiNameFromInTreeName, isMigratableInTreePluginByName } from '@csi-sidecars/csi-translation'
import type { Patch } from '@csi-sidecars/kube-types'
import {
  type Annotations,
  BETA_STORAGE_PROVISIONER,
  IN_TREE_FINALIZER,
  MIGRATED_TO,
  PROVISIONED_BY,
  PROVISIONER_FINALIZER,
  STORAGE_PROVISIONER,
} from '../caches/annotations.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import { guardedPatch } from './patches.ts'

/** The prefix of the names of in-tree plugins. */
export const IN_TREE_PREFIX = 'kubernetes.io/'

/** Sets or removes the mark of the CSI driver that replaces the provisioner. Returns undefined if nothing changes. */
export function migrateClaimPatch(claim: Claim): Patch | undefined {
  const { annotations } = claim
  const mark = markOf(annotations, annotations[STORAGE_PROVISIONER] ?? annotations[BETA_STORAGE_PROVISIONER])
  return mark && guardedPatch(claim, { metadata: { annotations: mark } })
}

/** Sets or removes the mark on a volume, and corrects its finalizers to match the component that deletes it. */
export function migrateVolumePatch(volume: Volume): Patch | undefined {
  const mark = markOf(volume.annotations, volume.annotations[PROVISIONED_BY])
  const finalizers = finalizersOf(volume)
  if (mark === undefined && finalizers === undefined) return undefined
  const metadata = { ...(mark && { annotations: mark }), ...(finalizers && { finalizers }) }
  return guardedPatch(volume, { metadata })
}

function markOf(annotations: Annotations, provisioner: string | undefined): Record<string, string | null> | undefined {
  if (provisioner === undefined) return undefined
  const driver = isMigratableInTreePluginByName(provisioner) ? csiNameFromInTreeName(provisioner) : undefined
  // An empty mark equals a missing mark.
  if ((annotations[MIGRATED_TO] || undefined) === driver) return undefined
  return { [MIGRATED_TO]: driver ?? null }
}

function finalizersOf({ annotations, finalizers = [], reclaimPolicy }: Volume): readonly string[] | undefined {
  const provisioner = annotations[PROVISIONED_BY]
  if (provisioner === undefined) return undefined
  const wanted = new Set(finalizers)
  if (isMigratableInTreePluginByName(provisioner)) wanted.delete(IN_TREE_FINALIZER)
  else if (provisioner.startsWith(IN_TREE_PREFIX)) {
    if (reclaimPolicy === 'Delete') wanted.add(IN_TREE_FINALIZER)
    else wanted.delete(IN_TREE_FINALIZER)
    wanted.delete(PROVISIONER_FINALIZER)
  }
  const before = new Set(finalizers)
  return before.symmetricDifference(wanted).size === 0 ? undefined : [...wanted]
}
