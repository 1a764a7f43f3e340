import type { Says } from '../attach-detach/node-status.ts'
import type { ActualVolume } from './actual-state.ts'
import type { CsiSource, DesiredVolume, MountSource, PodMount } from './desired-state.ts'

/** One volume on one node and all inputs of its next step, at one moment. */
export interface MountView {
  readonly desired: DesiredVolume | undefined
  readonly actual: ActualVolume | undefined
  /** Whether the node status lists the volume as in use. */
  readonly reported: Says
  /** True if the cached node status lists the volume as attached. */
  readonly isSaidAttached: boolean
  readonly canStage: boolean
  /** True if the volume may be larger than its file system. */
  readonly hasGrown: boolean
}

export type MountStep =
  | { readonly kind: 'unpublish'; readonly source: MountSource; readonly podUid: string; readonly path: string }
  | { readonly kind: 'unstage'; readonly source: MountSource; readonly path: string }
  /** Forgets the unmounted volume and removes it from the in-use list, so that it may be detached. */
  | { readonly kind: 'release' }
  | { readonly kind: 'reportInUse' }
  /** Asks the API server whether the volume may be used. If it may not, the plan ends here. */
  | { readonly kind: 'verifyAttached'; readonly source: CsiSource }
  | { readonly kind: 'admit'; readonly source: MountSource }
  | { readonly kind: 'stage'; readonly source: CsiSource }
  | { readonly kind: 'publish'; readonly source: MountSource; readonly pod: PodMount }
  | { readonly kind: 'refuse'; readonly source: MountSource; readonly pod: PodMount; readonly message: string }
  | { readonly kind: 'expand'; readonly source: CsiSource; readonly pod: PodMount }

/** Returns the plan for one volume of a node. Unmounts come first, because another pod may wait for the volume. */
export function decideMount(view: MountView): readonly MountStep[] {
  const { desired, actual } = view
  const steps: MountStep[] = []
  for (const [podUid, { path }] of actual?.pods ?? []) {
    if (actual === undefined || desired?.pods.has(podUid)) continue
    steps.push({ kind: 'unpublish', source: actual.source, podUid, path })
  }
  if (desired === undefined) return [...steps, ...decideRelease(view)]
  return [...steps, ...decideUse(view, desired)]
}

function decideRelease({ actual, reported }: MountView): readonly MountStep[] {
  const device = actual?.device
  const unstage: MountStep[] =
    actual === undefined || device === undefined ? [] : [{ kind: 'unstage', source: actual.source, path: device.path }]
  return actual === undefined && reported === 'no' ? [] : [...unstage, { kind: 'release' }]
}

function decideUse(view: MountView, desired: DesiredVolume): readonly MountStep[] {
  const { source } = desired
  const admission = decideAdmission(view, source)
  if (admission.ends) return admission.steps
  const missing = [...desired.pods.values()].filter(({ podUid }) => mustPublish(view.actual, podUid))
  if (missing.length === 0 && admission.steps.length === 0) return decideExpansion(view, desired)
  const mustStage = source.kind === 'csi' && view.canStage && view.actual?.device?.kind !== 'mounted'
  return [
    ...admission.steps,
    ...(mustStage ? [{ kind: 'stage' as const, source }] : []),
    ...missing.map((pod) => decidePublish(view, desired, pod)),
    ...decideExpansion(view, desired),
  ]
}

/** Reports whether the volume is not mounted for the pod, or must be published again. */
function mustPublish(actual: ActualVolume | undefined, podUid: string): boolean {
  return actual?.pods.get(podUid)?.kind !== 'mounted' || actual.stale.has(podUid)
}

interface Admission {
  readonly steps: readonly MountStep[]
  /** True if another component must act before the volume can be used. */
  readonly ends: boolean
}

/**
 * Reports the volume as in use before it checks the attachment. In any other order, the volume could be detached
 * between the check and the use.
 */
function decideAdmission({ actual, reported, isSaidAttached }: MountView, source: MountSource): Admission {
  if (actual?.attached) return { steps: [], ends: false }
  if (source.kind !== 'csi' || !source.attach) return { steps: [{ kind: 'admit', source }], ends: false }
  const report: MountStep[] = reported === 'yes' ? [] : [{ kind: 'reportInUse' }]
  if (!isSaidAttached) return { steps: report, ends: true }
  return { steps: [...report, { kind: 'verifyAttached', source }], ends: false }
}

/** Publishes the volume to a pod, but refuses a second pod if the access mode is ReadWriteOncePod. */
function decidePublish({ actual }: MountView, { source, pods }: DesiredVolume, pod: PodMount): MountStep {
  const single =
    source.kind === 'csi' && source.accessModes.length === 1 && source.accessModes[0] === 'ReadWriteOncePod'
  const other = [...(actual?.pods.keys() ?? [])].find((uid) => uid !== pod.podUid && pods.has(uid))
  const first = [...pods.keys()][0]
  if (!single || (other === undefined && first === pod.podUid)) return { kind: 'publish', source, pod }
  const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod'
  return { kind: 'refuse', source, pod, message }
}

/** Expands the volume through a pod with write access, because a read-only file system cannot grow. */
function decideExpansion({ hasGrown }: MountView, { source, pods }: DesiredVolume): readonly MountStep[] {
  const pod = [...pods.values()].find(({ readOnly }) => !readOnly)
  if (!hasGrown || source.kind !== 'csi' || pod === undefined) return []
  return [{ kind: 'expand', source, pod }]
}
