import { addFinalizerPatch, type Patch, removeFinalizerPatch } from '@csi-sidecars/kube-types'
import { VOLUME_FINALIZER } from '../caches/names.ts'

/** The fields of a PersistentVolume that a patch of its finalizers tests. */
interface FinalizedVolume {
  readonly uid: string
  readonly finalizers?: readonly string[] | undefined
}

/** Adds our finalizer. The API server refuses the patch for a recreated object. */
export function addOurFinalizerPatch({ finalizers, uid }: FinalizedVolume): Patch {
  return addFinalizerPatch(finalizers, VOLUME_FINALIZER, uid)
}

/** Removes our finalizer. The API server refuses the patch for a recreated object. Undefined if the finalizer is absent. */
export function removeOurFinalizerPatch({ finalizers, uid }: FinalizedVolume): Patch | undefined {
  return removeFinalizerPatch(finalizers, VOLUME_FINALIZER, uid)
}
