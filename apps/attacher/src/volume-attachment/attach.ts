import { messageOf, unreachable } from '@csi-sidecars/base'
import { AGAIN, addFinalizer, DONE, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { SecretRef } from '@csi-sidecars/sidecar'
import type { CachedAttachment } from '../caches/attachment.ts'
import type { CachedVolume } from '../caches/volume.ts'
import { STATUS_REVERTED, statusReverted } from '../term/status-reverted.ts'
import { finalizerOf, isDeleting, loadSecret, newest, patchStatus, statusWritePriority } from './api.ts'
import { type AttachStep, decideAttach } from './decide-attach.ts'
import { AttachmentGoneError, during, OperationError } from './failure.ts'
import { volumeName } from './lanes.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, attachedPatch } from './patches.ts'
import { failed, waitForCause } from './record-failure.ts'
import type { AttachmentRun } from './run.ts'

type Context = Readonly<Record<string, string>>

/** The steps of an attach, and the state of the objects from which they were decided. */
interface AttachPlan {
  readonly view: AttachmentView
  readonly steps: readonly AttachStep[]
}

export async function attach(run: AttachmentRun, plan: AttachPlan): Promise<Outcome> {
  waitForCause(run, plan.steps)
  run.log.v(2)?.info('Attaching')
  let context: Context
  try {
    const current = await withVolumeFinalizer(run, plan)
    if (current === undefined) return AGAIN
    const published = await performAttach(run, current)
    if (published === undefined) return AGAIN
    context = published
  } catch (error) {
    return await failed(run, 'attach', error)
  }
  run.log.v(2)?.info('Attached')
  return await markAttached(run, context)
}

/**
 * Adds our finalizer to the PersistentVolume if that is the first step of the plan, and plans the other steps again.
 * Undefined if the volume was replaced: other limits of the queue apply to the new volume.
 */
async function withVolumeFinalizer(run: AttachmentRun, plan: AttachPlan): Promise<AttachPlan | undefined> {
  const { view } = plan
  const [first] = plan.steps
  if (first?.kind !== 'addVolumeFinalizer' || view.volume.kind !== 'pv') return plan
  const before = view.volume.pv
  const pv = await addVolumeFinalizer(run, first.name)
  if (pv === undefined || pv.uid !== before?.uid || pv.modes !== before.modes) return undefined
  // The cache keeps no `spec` for the volume of another driver. The spec in `before` is used, as its source never changes.
  const current = { ...view, volume: { ...view.volume, pv: { ...pv, spec: pv.spec ?? before.spec } } }
  const steps = decideAttach(current)
  waitForCause(run, steps)
  return { view: current, steps }
}

async function addVolumeFinalizer(run: AttachmentRun, name: string): Promise<CachedVolume | undefined> {
  const { deps, signal, log } = run
  log.v(4)?.info('Adding finalizer to PersistentVolume', { PersistentVolume: name })
  const pv = await deps.finalizers.add(name, signal).catch((error: unknown) => {
    if (isNotFound(error)) run.waitFor({ kind: 'volume', name })
    return during('could not add PersistentVolume finalizer')(error)
  })
  log.v(4)?.info('PersistentVolume finalizer added', { PersistentVolume: name })
  return pv
}

/** Performs the steps of an attach. Undefined: the attachment or its volume was deleted before the publish. */
async function performAttach(run: AttachmentRun, { view, steps }: AttachPlan): Promise<Context | undefined> {
  const { deps, signal, log } = run
  let secretRef: SecretRef | undefined
  let secret: Readonly<Record<string, string>> = {}
  log.v(4)?.info('Starting attach operation')
  for (const step of steps) {
    switch (step.kind) {
      case 'addVolumeFinalizer':
        // Another writer has removed our finalizer since the first write of this run, so it is added again.
        await addVolumeFinalizer(run, step.name)
        break
      case 'loadSecret':
        secretRef = step.ref
        secret = await loadSecret(deps, step.ref, { signal, ...statusWritePriority(run, 'attach') })
        break
      case 'addFinalizer': {
        const addition = { ...finalizerOf(run), isDeleting, add: (va: CachedAttachment) => addFinalizerPatch(va, step) }
        const result = await addFinalizer(addition).catch(during('could not save VolumeAttachment'))
        if (result.kind === 'deleting' && !result.hasFinalizer) return undefined
        log.v(4)?.info('VolumeAttachment finalizer and NodeID annotation saved', { nodeID: step.nodeId })
        break
      }
      case 'publish':
        if (isVolumeGone(run, view)) return undefined
        return await publish(run, view, { step, secret, secretRef })
      case 'fail':
        throw new OperationError(step.message)
      default:
        unreachable(step)
    }
  }
  throw new OperationError('the plan of an attach ended without a publish')
}

/** Reports whether the volume of the plan was deleted, or deleted and recreated. */
function isVolumeGone({ deps }: AttachmentRun, { volume }: AttachmentView): boolean {
  return volume.kind === 'pv' && deps.volumes.get(volume.name)?.uid !== volume.pv?.uid
}

interface Publish {
  readonly step: AttachStep & { kind: 'publish' }
  readonly secret: Readonly<Record<string, string>>
  readonly secretRef: SecretRef | undefined
}

/**
 * Publishes the volume. Even if the driver answers with an error, the volume may be on the node until an unpublish
 * succeeds.
 */
async function publish(run: AttachmentRun, view: AttachmentView, { step, ...call }: Publish): Promise<Context> {
  const { key, deps, signal, log, va } = run
  const { request, migrated } = step
  const { volumeId, nodeId } = request
  const secrets = secretsFrom(call.secret)
  if (deps.attachments.store.get(key)?.uid !== va.uid) throw new AttachmentGoneError(key)
  const volume = volumeName(va, view.volume)
  // If the PersistentVolume was recreated, the volume with the old handle is unpublished. No pod uses it, because it
  // was never marked as attached.
  if (va.attached !== true) for (const orphan of deps.memory.orphan(va, volume)) deps.enqueue(orphan)
  deps.memory.publishing(va, {
    volume,
    nodeName: va.nodeName,
    request: { volumeId, nodeId },
    secret: call.secretRef,
    migrated,
  })
  // The driver may refuse the publish because the volume is on another node. A detach from that node starts the next
  // try.
  run.waitFor({ kind: 'unpublish', name: volumeId })
  const context = await deps.driver.publish({ ...request, secrets }, { migrated, signal, log })
  run.waitFor()
  return context
}

async function markAttached(run: AttachmentRun, context: Context): Promise<Outcome> {
  run.log.v(4)?.info('Marking as attached')
  let saved: VolumeAttachment | undefined
  try {
    saved = await patchStatus(run, (va) => attachedPatch(va, context))
    // The answer may contain an error or an old publish context that the cache lacked. A second patch removes them.
    if (newest(run).attached === true) await patchStatus(run, (va) => attachedPatch(va, context))
  } catch (error) {
    // The volume is attached, and only the status does not show it. So no error is recorded, and the run is repeated.
    run.signal.throwIfAborted()
    if (error instanceof AttachmentGoneError) throw error
    const cause = new OperationError(`failed to mark as attached: ${messageOf(error)}`, { cause: error })
    return { kind: 'retry', cause }
  }
  run.log.v(4)?.info('Fully attached')
  if (run.va.attached === true) return DONE
  if (run.va.deleting || saved === undefined) return SETTLED
  return statusReverted(saved, new OperationError(STATUS_REVERTED))
}
