import type { Says } from '../attach-detach/node-status.ts'
import type { ActualVolume } from './actual-state.ts'
import type { CsiSource, DesiredVolume, MountSource, PodMount } from './desired-state.ts'

/** One volume on one node and all that its next step depends on, at one moment. */
export interface MountView {
  readonly desired: DesiredVolume | undefined
  readonly actual: ActualVolume | undefined
  /** Whether the node's status says that the volume is in use. */
  readonly reported: Says
  /** The node's status in the cache says that the volume is attached. */
  readonly isSaidAttached: boolean
  readonly canStage: boolean
  /** Whether the volume has grown beyond its file system; looked at once it is mounted. */
  readonly hasGrown: boolean
}

export type MountStep =
  | { readonly do: 'unpublish'; readonly source: MountSource; readonly podUid: string; readonly path: string }
  | { readonly do: 'unstage'; readonly source: MountSource; readonly path: string }
  /** Nothing of it is mounted any more: the status says so, and it may be detached. */
  | { readonly do: 'release' }
  | { readonly do: 'reportInUse' }
  /** Asks the API itself whether the volume may be used. If not, the plan ends here. */
  | { readonly do: 'verifyAttached'; readonly source: CsiSource }
  | { readonly do: 'admit'; readonly source: MountSource }
  | { readonly do: 'stage'; readonly source: CsiSource }
  | { readonly do: 'publish'; readonly source: MountSource; readonly pod: PodMount }
  | { readonly do: 'refuse'; readonly source: MountSource; readonly pod: PodMount; readonly message: string }
  | { readonly do: 'expand'; readonly source: CsiSource; readonly pod: PodMount }

/** The plan for one volume of a node. Unmounts come first: what one pod gives up, another may be waiting for. */
export function decideMount(view: MountView): readonly MountStep[] {
  const { desired, actual } = view
  const steps: MountStep[] = []
  for (const [podUid, { path }] of actual?.pods ?? []) {
    if (actual === undefined || desired?.pods.has(podUid)) continue
    steps.push({ do: 'unpublish', source: actual.source, podUid, path })
  }
  if (desired === undefined) return [...steps, ...decideRelease(view)]
  return [...steps, ...decideUse(view, desired)]
}

function decideRelease({ actual, reported }: MountView): readonly MountStep[] {
  const device = actual?.device
  const unstage: MountStep[] =
    actual === undefined || device === undefined ? [] : [{ do: 'unstage', source: actual.source, path: device.path }]
  return actual === undefined && reported === 'no' ? [] : [...unstage, { do: 'release' }]
}

function decideUse(view: MountView, desired: DesiredVolume): readonly MountStep[] {
  const { source } = desired
  const admission = decideAdmission(view, source)
  if (admission.ends) return admission.steps
  const missing = [...desired.pods.values()].filter(({ podUid }) => mustPublish(view.actual, podUid))
  if (missing.length === 0 && admission.steps.length === 0) return decideExpansion(view, desired)
  const mustStage = source.is === 'csi' && view.canStage && view.actual?.device?.is !== 'mounted'
  return [
    ...admission.steps,
    ...(mustStage ? [{ do: 'stage' as const, source }] : []),
    ...missing.map((pod) => decidePublish(view, desired, pod)),
    ...decideExpansion(view, desired),
  ]
}

/** Not mounted for the pod, or to be published again. */
function mustPublish(actual: ActualVolume | undefined, podUid: string): boolean {
  return actual?.pods.get(podUid)?.is !== 'mounted' || actual.stale.has(podUid)
}

interface Admission {
  readonly steps: readonly MountStep[]
  /** Another component has to act before the volume can be used. */
  readonly ends: boolean
}

/**
 * First the status says that the volume is in use, then it is looked whether it is attached. In this order, or the
 * volume could be detached between the look and the use.
 */
function decideAdmission({ actual, reported, isSaidAttached }: MountView, source: MountSource): Admission {
  if (actual?.attached) return { steps: [], ends: false }
  if (source.is !== 'csi' || !source.attach) return { steps: [{ do: 'admit', source }], ends: false }
  const report: MountStep[] = reported === 'yes' ? [] : [{ do: 'reportInUse' }]
  if (!isSaidAttached) return { steps: report, ends: true }
  return { steps: [...report, { do: 'verifyAttached', source }], ends: false }
}

/** A volume for a single pod is given to no second one, no matter how that was scheduled. */
function decidePublish({ actual }: MountView, { source, pods }: DesiredVolume, pod: PodMount): MountStep {
  const single = source.is === 'csi' && source.accessModes.length === 1 && source.accessModes[0] === 'ReadWriteOncePod'
  const other = [...(actual?.pods.keys() ?? [])].find((uid) => uid !== pod.podUid && pods.has(uid))
  const first = [...pods.keys()][0]
  if (!single || (other === undefined && first === pod.podUid)) return { do: 'publish', source, pod }
  const message = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod'
  return { do: 'refuse', source, pod, message }
}

/** By way of a pod that may write: a file system that is only read cannot grow. */
function decideExpansion({ hasGrown }: MountView, { source, pods }: DesiredVolume): readonly MountStep[] {
  const pod = [...pods.values()].find(({ readOnly }) => !readOnly)
  if (!hasGrown || source.is !== 'csi' || pod === undefined) return []
  return [{ do: 'expand', source, pod }]
}
