import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome, SETTLED } from '@csi-sidecars/controller'
import type { EventText } from '@csi-sidecars/events'
import { isAlreadyExists, isNotFound } from '@csi-sidecars/kube-client'
import { NODES, PODS, referenceTo, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { type ControllerParts, except } from '../control.ts'
import { attachmentName, csiVolumeOf } from '../volume-names.ts'
import { decideVolume, type Force, type NodeStep } from './decide.ts'
import type { PodRef } from './desired-state.ts'
import type { StatusList } from './node-status.ts'
import type { AttachDetachState } from './state.ts'

/** Everything that a run of the attach-detach controller needs. */
export interface AttachDetachParts extends ControllerParts {
  readonly state: AttachDetachState
  readonly writeStatus: StatusList['write']
  readonly waitingMessage: boolean
}

/** One run of the controller for one volume. */
interface Run {
  readonly volumeName: string
  readonly deps: AttachDetachParts
  readonly signal: AbortSignal
  /** The delay until the next run, if no event occurs before. */
  wakeMs: number | undefined
  /** True if a step has read a newer state, which requires a new plan. */
  again: boolean
}

/** Moves one volume towards its desired state. It requests attaches and detaches; events report their results. */
export async function reconcileVolume(
  volumeName: string,
  deps: AttachDetachParts,
  signal: AbortSignal,
): Promise<Outcome> {
  const run: Run = { volumeName, deps, signal, wakeMs: undefined, again: false }
  const { state, clock } = deps
  for (const node of state.pendingStatuses(volumeName)) await writeStatus(node, run)
  for (const step of decideVolume(state.observe(volumeName, clock.monotonic()))) await perform(step, run)
  if (run.again) return AGAIN
  return run.wakeMs === undefined ? SETTLED : { kind: 'postponed', ms: run.wakeMs }
}

async function perform(step: NodeStep, run: Run): Promise<void> {
  const { volumeName, deps } = run
  const { actual, desired } = deps.state
  switch (step.kind) {
    case 'markDetached':
      actual.markDetached(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'markUncertain':
      actual.markUncertain(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'markAttached':
      actual.markAttached(volumeName, step.node)
      deps.state.remember(volumeName, step.node, { waitingSince: undefined })
      recordOnPods(
        step.pods,
        {
          type: 'Normal',
          reason: 'SuccessfulAttachVolume',
          message: messageAbout(run, 'AttachVolume.Attach succeeded'),
        },
        run,
      )
      return await writeStatus(step.node, run)
    case 'keep':
      actual.resetDetachRequest(volumeName, step.node)
      actual.report(volumeName, step.node)
      return await writeStatus(step.node, run)
    case 'requestDetach':
      return actual.requestDetach(volumeName, step.node, deps.clock.monotonic())
    case 'wait':
      run.wakeMs = Math.min(step.ms, run.wakeMs ?? step.ms)
      return
    case 'detach':
      return await detach(step.node, step.force, run)
    case 'attach':
      return await attach(step.node, run)
    case 'readAttachment':
      run.again = true
      return await readAttachment(step.node, run)
    case 'recordFailure':
      deps.state.remember(volumeName, step.node, { reportedError: step.message })
      return recordFailure(step.pods, step.message, run)
    case 'beginWait':
      return deps.state.remember(volumeName, step.node, { waitingSince: deps.clock.monotonic() })
    case 'recordTimeout': {
      const { driver = 'unknown', volumeHandle = volumeName } = csiVolumeOf(volumeName) ?? {}
      const message = `timed out waiting for external-attacher of ${driver} CSI driver to attach volume ${volumeHandle}`
      return recordFailure(step.pods, message, run)
    }
    case 'recordMultiAttach':
      desired.multiAttachReported(volumeName, step.node)
      return recordMultiAttach(step.pods, step.others, run)
    default:
      unreachable(step)
  }
}

/** Writes the node status. If the write fails, the next run for the volume first repeats the write. */
async function writeStatus(node: string, { volumeName, deps, signal }: Run): Promise<void> {
  deps.state.statusPending(volumeName, node)
  await deps.writeStatus(node, signal)
  deps.state.statusWritten(volumeName, node)
}

async function attach(node: string, { volumeName, deps, signal }: Run): Promise<void> {
  const { client, caches, state } = deps
  const volume = csiVolumeOf(volumeName)
  const spec = state.desired.specOf(volumeName)
  if (volume === undefined || spec === undefined) return
  const name = attachmentName(volume, node)
  const attachment: VolumeAttachment = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name },
    spec: { attacher: volume.driver, nodeName: node, source: { persistentVolumeName: spec.pvName } },
  }
  // The node may have the volume from now on, even if the request fails.
  state.actual.markUncertain(volumeName, node)
  state.attachmentRequested(name)
  try {
    caches.attachments.storeAnswer(await client.create(VOLUME_ATTACHMENTS, attachment, { signal }))
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    caches.attachments.storeAnswer(await client.get(VOLUME_ATTACHMENTS, { name }, { signal }))
  }
  state.attachmentSettled(name)
}

/** Reads the VolumeAttachment, because the answer to its creation was lost and the cache may be late. */
async function readAttachment(node: string, { volumeName, deps, signal }: Run): Promise<void> {
  const { client, caches, state } = deps
  const volume = csiVolumeOf(volumeName)
  if (volume === undefined) return
  const name = attachmentName(volume, node)
  const stored = await except(isNotFound, client.get(VOLUME_ATTACHMENTS, { name }, { signal }))
  if (stored !== undefined) caches.attachments.storeAnswer(stored)
  state.attachmentSettled(name)
}

/**
 * Removes the volume from the node status, and only then checks whether the node uses the volume. A kubelet does the
 * reverse: it reports a volume as in use, and only then checks the status.
 */
async function detach(node: string, force: Force | undefined, run: Run): Promise<void> {
  const { volumeName, deps, signal } = run
  const { state, clock, client, log } = deps
  const { actual } = state
  actual.requestDetach(volumeName, node, clock.monotonic())
  actual.unreport(volumeName, node)
  await writeStatus(node, run)
  if (force === undefined && (await isInUseNow(node, run))) {
    actual.markUncertain(volumeName, node)
    return
  }
  if (force !== undefined) log.info('Detaching by force', { volume: volumeName, node, reason: force })
  const attachment = state.attachmentOf(volumeName, node)
  actual.markUncertain(volumeName, node)
  if (attachment === undefined) return
  try {
    state.remember(volumeName, node, { deleted: true })
    await client.delete(VOLUME_ATTACHMENTS, { name: attachment.key }, { signal })
  } catch (error) {
    state.attachmentGone(attachment)
    if (!isNotFound(error)) throw error
  }
}

/** Reads the node from the API server, because the cache may be late. A newer node in the cache decides. */
async function isInUseNow(node: string, { volumeName, deps, signal }: Run): Promise<boolean> {
  const { nodes } = deps.caches
  const stored = await except(isNotFound, deps.client.get(NODES, { name: node }, { signal }))
  if (stored === undefined) return false
  nodes.storeAnswer(stored)
  return nodes.store.get(node)?.volumesInUse.includes(volumeName) === true
}

function recordFailure(pods: readonly PodRef[], why: string, run: Run): void {
  const message = `${messageAbout(run, 'AttachVolume.Attach failed')}: ${why}`
  recordOnPods(pods, { type: 'Warning', reason: 'FailedAttachVolume', message }, run)
}

/** Records an event on each pod. The text names the volume's users in the same namespace and counts the others. */
function recordMultiAttach(pods: readonly PodRef[], others: readonly string[], run: Run): void {
  const { volumeName, deps } = run
  const users = others.flatMap((node) => deps.state.desired.podsOn(volumeName, node))
  for (const pod of pods) {
    const { text, why } = multiAttachText(pod, users, { waitingMessage: deps.waitingMessage })
    recordOnPods(
      [pod],
      { type: 'Warning', reason: 'FailedAttachVolume', message: `${messageAbout(run, text)}${why}` },
      run,
    )
  }
}

/** Returns the beginning of an event message, which names the volume. */
function messageAbout({ volumeName, deps }: Run, text: string): string {
  return `${text} for volume "${deps.state.desired.specOf(volumeName)?.pvName ?? volumeName}" `
}

function recordOnPods(pods: readonly PodRef[], event: EventText, { deps }: Run): void {
  for (const pod of pods) deps.recorder.event(referenceTo(PODS, pod), event)
}

/** The text of the event for a pod whose volume is attached to another node. */
interface MultiAttachText {
  readonly text: string
  readonly why: string
}

/** Returns the event text. `users` are the pods that use the volume. `waitingMessage`: the text of Kubernetes 1.37. */
export function multiAttachText(
  pod: PodRef,
  users: readonly PodRef[],
  { waitingMessage }: { readonly waitingMessage: boolean },
): MultiAttachText {
  const reason = waitingMessage ? 'Waiting for detach' : 'Multi-Attach error'
  if (users.length > 0) return { text: reason, why: `Volume is already used by ${usersText(pod, users)}` }
  const rest = waitingMessage
    ? ', waiting on detach before it can be attached to another node'
    : " and can't be attached to another"
  return { text: reason, why: `Volume is already exclusively attached to one node${rest}` }
}

function usersText(pod: PodRef, users: readonly PodRef[]): string {
  const [namespace] = pod.key.split('/')
  const local = users
    .filter(({ key }) => key.startsWith(`${namespace}/`))
    .map(({ key }) => key.split('/')[1])
    .sort()
  const foreign = users.length - local.length
  const foreignText = `${foreign} pod(s) in different namespaces`
  if (local.length === 0) return foreignText
  return `pod(s) ${local.join(', ')}${foreign > 0 ? ` and ${foreignText}` : ''}`
}
