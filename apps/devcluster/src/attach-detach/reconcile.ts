import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { NODES, PODS, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { type ControllerParts, targetOf } from '../control.ts'
import { attachmentName, csiVolumeOf } from '../volume-names.ts'
import { decideVolume, type Force, type Step } from './decide.ts'
import type { PodRef, VolumeSpec } from './desired-state.ts'
import { multiAttachText } from './multi-attach.ts'
import type { StatusList } from './node-status.ts'
import type { AttachDetachState } from './state.ts'

export interface AttachDetachParts extends ControllerParts {
  readonly world: AttachDetachState
  readonly writeStatus: StatusList['write']
  readonly saysWaiting: boolean
}

/** One volume in work. */
interface Run {
  readonly volumeName: string
  readonly parts: AttachDetachParts
  readonly signal: AbortSignal
  /** When to come back if nothing else happens. */
  wakeMs: number | undefined
  /** Something was learned that changes the plan. */
  again: boolean
}

/** Brings one volume closer to where it should be. Attach and detach are asked for here; their ends come as events. */
export async function reconcileVolume(
  volumeName: string,
  parts: AttachDetachParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const run: Run = { volumeName, parts, signal, wakeMs: undefined, again: false }
  const { world, clock } = parts
  try {
    for (const node of world.owed(volumeName)) await writeStatus(node, run)
    for (const step of decideVolume(world.observe(volumeName, clock.monotonic()))) await perform(step, run)
  } catch (error) {
    signal.throwIfAborted()
    return { kind: 'retry', cause: error }
  }
  if (run.again) return AGAIN
  return run.wakeMs === undefined ? SETTLED : { kind: 'postponed', ms: run.wakeMs }
}

async function perform(step: Step, run: Run): Promise<void> {
  const { volumeName, parts } = run
  const { actual, desired } = parts.world
  switch (step.do) {
    case 'markDetached':
      actual.markDetached(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'markUncertain':
      actual.markUncertain(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'markAttached':
      actual.markAttached(volumeName, step.node)
      parts.world.waitEnded(volumeName, step.node)
      tell(step.pods, 'Normal', 'SuccessfulAttachVolume', about(run, 'AttachVolume.Attach succeeded'), parts)
      return await writeStatus(step.node, run)
    case 'keep':
      actual.resetDetachRequest(volumeName, step.node)
      actual.report(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'requestDetach':
      return actual.requestDetach(volumeName, step.node, parts.clock.monotonic())
    case 'wait':
      run.wakeMs = Math.min(step.ms, run.wakeMs ?? step.ms)
      return
    case 'detach':
      return await detach(step.node, step.force, run)
    case 'attach':
      return await attach(step.node, run)
    case 'askForAttachment':
      run.again = true
      return await askForAttachment(step.node, run)
    case 'tellFailure': {
      const attachment = parts.world.attachmentOf(volumeName, step.node)
      if (attachment !== undefined) parts.world.errorTold(attachment)
      return tellFailure(step.pods, step.message, run)
    }
    case 'beginWait':
      return parts.world.waitBegun(volumeName, step.node, parts.clock.monotonic())
    case 'tellTimeout': {
      const { driver = 'unknown', volumeHandle = volumeName } = csiVolumeOf(volumeName) ?? {}
      const message = `timed out waiting for external-attacher of ${driver} CSI driver to attach volume ${volumeHandle}`
      return tellFailure(step.pods, message, run)
    }
    case 'tellMultiAttach':
      desired.multiAttachTold(volumeName, step.node)
      return tellMultiAttach(step.pods, step.others, run)
    default:
      unreachable(step)
  }
}

/** What a node's status could not be told is owed: it is told before anything else is done for the volume. */
async function writeStatus(node: string, { volumeName, parts, signal }: Run): Promise<void> {
  parts.world.statusOwed(volumeName, node)
  await parts.writeStatus(node, signal)
  parts.world.statusWritten(volumeName, node)
}

async function attach(node: string, { volumeName, parts, signal }: Run): Promise<void> {
  const { client, caches, world } = parts
  const volume = csiVolumeOf(volumeName)
  const spec = world.desired.specOf(volumeName)
  if (volume === undefined || spec === undefined) return
  const name = attachmentName(volume, node)
  const attachment: VolumeAttachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: volume.driver, nodeName: node, source: sourceOf(spec) },
  }
  // From here on it may be there, whatever becomes of the request.
  world.actual.markUncertain(volumeName, node)
  world.attachmentAskedFor(name)
  try {
    caches.attachments.learn(await client.create(VOLUME_ATTACHMENTS, attachment, { signal }))
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    caches.attachments.learn(await client.get(VOLUME_ATTACHMENTS, { name }, { signal }))
  }
  world.attachmentSettled(name)
}

function sourceOf({ pvName, inline }: VolumeSpec): VolumeAttachment['spec']['source'] {
  return inline === undefined ? { persistentVolumeName: pvName } : { inlineVolumeSpec: inline }
}

/** The answer to an attach was lost, and nobody wants to wait for the cache to tell what became of it. */
async function askForAttachment(node: string, { volumeName, parts, signal }: Run): Promise<void> {
  const { client, caches, world } = parts
  const volume = csiVolumeOf(volumeName)
  if (volume === undefined) return
  const name = attachmentName(volume, node)
  try {
    caches.attachments.learn(await client.get(VOLUME_ATTACHMENTS, { name }, { signal }))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  world.attachmentSettled(name)
}

/**
 * The order keeps a mounted volume safe: first the node is told not to use it any more, then it is asked whether it
 * does. A kubelet says that it will use a volume before it looks whether it may.
 */
async function detach(node: string, force: Force | undefined, run: Run): Promise<void> {
  const { volumeName, parts, signal } = run
  const { world, clock, client, log } = parts
  const { actual } = world
  actual.requestDetach(volumeName, node, clock.monotonic())
  actual.unreport(volumeName, node)
  await writeStatus(node, run)
  if (force === undefined && (await isInUseNow(node, run))) {
    actual.markUncertain(volumeName, node)
    return
  }
  if (force !== undefined) log.info('Detaching by force', { volume: volumeName, node, reason: force })
  const attachment = world.attachmentOf(volumeName, node)
  actual.markUncertain(volumeName, node)
  if (attachment === undefined) return
  try {
    world.deletionSent(attachment)
    await client.delete(VOLUME_ATTACHMENTS, { name: attachment.key }, { signal })
  } catch (error) {
    world.attachmentGone(attachment)
    if (!isNotFound(error)) throw error
  }
}

/**
 * Asks the API itself: the cache may not have the node's last word. It may have a later one than the answer, too, and of
 * that nobody would hear again: the later one counts. A node that is gone uses nothing.
 */
async function isInUseNow(node: string, { volumeName, parts, signal }: Run): Promise<boolean> {
  const { nodes } = parts.caches
  try {
    nodes.learn(await parts.client.get(NODES, { name: node }, { signal }))
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
  return nodes.store.get(node)?.volumesInUse.includes(volumeName) === true
}

function tellFailure(pods: readonly PodRef[], why: string, run: Run): void {
  tell(pods, 'Warning', 'FailedAttachVolume', `${about(run, 'AttachVolume.Attach failed')}: ${why}`, run.parts)
}

/** Each pod is told of those in its own namespace; of others it learns the number only. */
function tellMultiAttach(pods: readonly PodRef[], others: readonly string[], run: Run): void {
  const { volumeName, parts } = run
  const users = others.flatMap((node) => parts.world.desired.podsOn(volumeName, node))
  for (const pod of pods) {
    const { what, why } = multiAttachText(pod, users, { saysWaiting: parts.saysWaiting })
    tell([pod], 'Warning', 'FailedAttachVolume', `${about(run, what)}${why}`, parts)
  }
}

/** As kubectl shows it: what happened, and to which volume. */
function about({ volumeName, parts }: Run, what: string): string {
  return `${what} for volume "${parts.world.desired.specOf(volumeName)?.pvName ?? volumeName}" `
}

function tell(
  pods: readonly PodRef[],
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
  { recorder }: ControllerParts,
): void {
  for (const pod of pods) recorder.event(targetOf(PODS, pod), type, reason, message)
}
