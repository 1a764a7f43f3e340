import { messageOf, unreachable } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { NODES, PODS, refOf, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { nodeProjection } from '../caches/node.ts'
import { attachmentName } from '../volume-names.ts'
import type { NodeParts } from './calls.ts'
import { canStage, publish, stage, unmount } from './calls.ts'
import { decideMount, type MountStep, type MountView } from './decide.ts'
import type { CsiSource, MountSource, PodMount } from './desired-state.ts'
import { hasGrown } from './expand.ts'
import { expand } from './expand-run.ts'

/** Everything that a run of a volume on a node needs. */
export interface MountParts extends NodeParts {
  /** Enqueues a pod after a change of its mounts. */
  readonly lookAtPod: (podUid: string) => void
}

/** Moves one volume of the node towards the state that its pods want. */
export async function reconcileMount(volumeName: string, deps: MountParts, signal: AbortSignal): Promise<Outcome> {
  const view = observe(volumeName, deps)
  if (view.desired !== undefined) deps.actual.begin(view.desired.source)
  for (const step of decideMount(view)) {
    if (!(await perform(step, { volumeName, deps, signal }))) break
  }
  return SETTLED
}

export function observe(volumeName: string, deps: NodeParts): MountView {
  const { desired, actual, caches, node } = deps
  const desiredVolume = desired.get(volumeName)
  const present = actual.get(volumeName)
  const cached = caches.nodes.store.get(node)
  const claimKey = desiredVolume?.source.kind === 'csi' ? desiredVolume.source.claim : undefined
  const claim = claimKey === undefined ? undefined : caches.claims.store.get(claimKey)
  return {
    desired: desiredVolume,
    actual: present,
    reported: deps.inUse.says(node, volumeName),
    isSaidAttached: cached?.volumesAttached.some(({ name }) => name === volumeName) === true,
    canStage: canStage(deps),
    hasGrown: hasGrown(desiredVolume?.capacity, claim, present),
  }
}

interface MountRun {
  readonly volumeName: string
  readonly deps: MountParts
  readonly signal: AbortSignal
}

/** Performs one step. Returns false if the remaining steps must wait for another component. */
async function perform(step: MountStep, { volumeName, deps, signal }: MountRun): Promise<boolean> {
  switch (step.kind) {
    case 'unpublish':
      await unmount(step, deps, signal)
      deps.lookAtPod(step.podUid)
      return true
    case 'unstage':
      await unmount(step, deps, signal)
      return true
    case 'release':
      deps.actual.forget(volumeName)
      await deps.inUse.write(deps.node, signal)
      return true
    case 'reportInUse':
      await deps.inUse.write(deps.node, signal)
      return true
    case 'verifyAttached':
      return await verifyAttached(step.source, deps, signal)
    case 'admit':
      deps.actual.markAttached(step.source, {})
      return true
    case 'stage':
      await withEvents({ source: step.source, target: 'device' }, deps, () => stage(step.source, deps, signal))
      return true
    case 'publish':
      await withEvents({ source: step.source, target: step.pod }, deps, () => publish(step, deps, signal))
      deps.lookAtPod(step.pod.podUid)
      return true
    case 'refuse':
      recordOnPods([step.pod], warning('FailedMount', `${failedText(step.source, 'SetUp')}: ${step.message}`), deps)
      return true
    case 'expand':
      await withEvents({ source: step.source, target: 'expansion' }, deps, () => expand(step, deps, signal))
      return true
    default:
      return unreachable(step)
  }
}

/** Checks the attachment in the API server, after the node status lists the volume as in use. */
async function verifyAttached(
  source: CsiSource,
  { client, node, actual }: NodeParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { volumesAttached } = nodeProjection(await client.get(NODES, { name: node }, { signal }))
  if (!volumesAttached.some(({ name }) => name === source.volumeName)) return false
  const name = attachmentName(source.csi, node)
  const { metadata, status } = await client.get(VOLUME_ATTACHMENTS, { name }, { signal })
  if (status?.attached !== true || metadata?.deletionTimestamp != null) {
    throw new Error(`volume ${source.csi.volumeHandle} is not attached for volume attachment ${name}`)
  }
  actual.markAttached(source, status.attachmentMetadata ?? {})
  return true
}

/** Runs a step. If the step fails, records an event on the pods that wait for the step. */
async function withEvents(
  { source, target }: { readonly source: MountSource; readonly target: PodMount | 'device' | 'expansion' },
  deps: NodeParts,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    const pods = typeof target === 'object' ? [target] : [...(deps.desired.get(source.volumeName)?.pods.values() ?? [])]
    const block = source.kind === 'csi' && source.block
    const text =
      target === 'expansion'
        ? `NodeExpandVolume.NodeExpandVolume failed for volume "${source.name}" `
        : failedText(source, target === 'device' ? 'MountDevice' : 'SetUp')
    const mountReason = block ? 'FailedMapVolume' : 'FailedMount'
    const reason = target === 'expansion' ? 'VolumeResizeFailed' : mountReason
    recordOnPods(pods, warning(reason, `${text}: ${messageOf(error)}`), deps)
    throw error
  }
}

/** Returns the start of kubelet's message about a failed mount, which differs for block volumes. */
function failedText(source: MountSource, operation: 'MountDevice' | 'SetUp'): string {
  const block = source.kind === 'csi' && source.block
  const step = block ? { MountDevice: 'SetUpDevice', SetUp: 'MapPodDevice' }[operation] : operation
  return `${block ? 'MapVolume' : 'MountVolume'}.${step} failed for volume "${source.name}" `
}

function warning(reason: string, message: string): EventText {
  return { type: 'Warning', reason, message }
}

function recordOnPods(pods: readonly PodMount[], event: EventText, deps: NodeParts): void {
  for (const { podKey, podUid } of pods) {
    deps.recorder.event({ apiVersion: 'v1', kind: PODS.kind, ...refOf(podKey), uid: podUid }, event)
  }
}
