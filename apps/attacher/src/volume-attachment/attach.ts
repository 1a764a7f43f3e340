import { messageOf, unreachable } from '@csi-sidecars/base'
import { AGAIN, DONE, type Outcome, SETTLED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import type { VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Attachment } from '../caches/attachment.ts'
import type { Volume } from '../caches/volume.ts'
import { STATUS_REVERTED, statusReverted } from '../term/undone-write.ts'
import type { SecretRef } from '../volumes/call-source.ts'
import { type AttachStep, decideAttach } from './decide-attach.ts'
import { AttachmentGoneError, during, OperationError } from './failure.ts'
import { volumeName } from './lanes.ts'
import type { AttachmentView } from './observe.ts'
import { addFinalizerPatch, attachedPatch } from './patches.ts'
import { failed, waitForCause } from './record-failure.ts'
import { type AttachmentRun, loadSecret, newest, patchStatus, patchTested, statusWritePriority } from './run.ts'

type Context = Readonly<Record<string, string>>

/** What a publish is sent for, and the steps up to it. */
interface Plan {
  readonly view: AttachmentView
  readonly steps: readonly AttachStep[]
}

export async function attach(run: AttachmentRun, view: AttachmentView): Promise<Outcome> {
  const plan = planOf(run, view)
  if (plan.steps.length === 0) {
    run.log.v(4)?.info('VolumeAttachment is already attached')
    return SETTLED
  }
  run.log.v(2)?.info('Attaching')
  let context: Context
  try {
    const held = await withVolumeFinalizer(run, plan)
    if (held === undefined) return AGAIN
    const published = await performAttach(run, held)
    if (published === undefined) return AGAIN
    context = published
  } catch (error) {
    return await failed(run, 'attach', error)
  }
  run.log.v(2)?.info('Attached')
  return await markAttached(run, context)
}

function planOf(run: AttachmentRun, view: AttachmentView): Plan {
  const steps = decideAttach(view)
  waitForCause(run, steps)
  return { view, steps }
}

/**
 * Where the plan begins with our finalizer on the volume, the rest of it is decided again from what the write returned:
 * the cache may have been behind. Undefined: it is another volume by now, whose calls wait in another line.
 */
async function withVolumeFinalizer(run: AttachmentRun, plan: Plan): Promise<Plan | undefined> {
  const { view } = plan
  const [first] = plan.steps
  if (first?.do !== 'addVolumeFinalizer' || view.volume.from !== 'pv') return plan
  const before = view.volume.pv
  const pv = await addVolumeFinalizer(run, first.name)
  if (pv === undefined || pv.uid !== before?.uid || pv.modes !== before.modes) return undefined
  // The source of another driver's volume never changes, and only what was read has it.
  return planOf(run, { ...view, volume: { ...view.volume, pv: { ...pv, spec: pv.spec ?? before.spec } } })
}

async function addVolumeFinalizer(run: AttachmentRun, name: string): Promise<Volume | undefined> {
  const { deps, signal, log } = run
  log.v(4)?.info('Adding finalizer to PersistentVolume', { PersistentVolume: name })
  const pv = await deps.finalizers.add(name, signal).catch((error: unknown) => {
    if (isNotFound(error)) run.waitFor({ on: 'volume', name })
    return during('could not add PersistentVolume finalizer')(error)
  })
  log.v(4)?.info('PersistentVolume finalizer added', { PersistentVolume: name })
  return pv
}

/** Undefined: it, or its volume, has been deleted meanwhile, before anything was published. */
async function performAttach(run: AttachmentRun, { view, steps }: Plan): Promise<Context | undefined> {
  const { deps, signal, log } = run
  let secretRef: SecretRef | undefined
  let secret: Readonly<Record<string, string>> = {}
  log.v(4)?.info('Starting attach operation')
  for (const step of steps) {
    switch (step.do) {
      case 'addVolumeFinalizer':
        // Another writer has removed it from the volume that had it a moment ago.
        await addVolumeFinalizer(run, step.name)
        break
      case 'loadSecret':
        secretRef = step.ref
        secret = await loadSecret(deps, step.ref, { signal, ...statusWritePriority(run, 'attach') })
        break
      case 'addFinalizer': {
        const isTooLate = (va: Attachment): boolean => va.deleting && !va.finalizers?.includes(step.finalizer)
        await patchTested(run, (va) => (isTooLate(va) ? undefined : addFinalizerPatch(va, step))).catch(
          during('could not save VolumeAttachment'),
        )
        if (isTooLate(newest(run))) return undefined
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

/** The cache holds the volume of the plan no longer: it was deleted, and maybe recreated. */
function isVolumeGone({ deps }: AttachmentRun, { volume }: AttachmentView): boolean {
  return volume.from === 'pv' && deps.volumes.get(volume.name)?.uid !== volume.pv?.uid
}

interface Publish {
  readonly step: AttachStep & { do: 'publish' }
  readonly secret: Readonly<Record<string, string>>
  readonly secretRef: SecretRef | undefined
}

/** Whatever the driver answers, from here on only an unpublish makes sure that the volume is not there. */
async function publish(run: AttachmentRun, view: AttachmentView, { step, ...call }: Publish): Promise<Context> {
  const { key, deps, signal, log, va } = run
  const { request, migrated } = step
  const { volumeId, nodeId } = request
  const secrets = secretsFrom(call.secret)
  if (deps.attachments.store.get(key)?.uid !== va.uid) throw new AttachmentGoneError(key)
  const volume = volumeName(va, view.volume)
  // The PersistentVolume was recreated with another handle. No pod uses a volume that was never marked as attached.
  if (va.attached !== true) for (const orphan of deps.memory.orphan(va, volume)) deps.enqueue(orphan)
  deps.memory.publishing(va, {
    volume,
    nodeName: va.nodeName,
    request: { volumeId, nodeId },
    secret: call.secretRef,
    migrated,
  })
  // What the driver refuses because the volume is elsewhere may be granted as soon as it has left that node.
  run.waitFor({ on: 'unpublish', name: volumeId })
  const context = await deps.driver.publish({ ...request, secrets }, { migrated, signal, log })
  run.waitFor()
  return context
}

async function markAttached(run: AttachmentRun, context: Context): Promise<Outcome> {
  run.log.v(4)?.info('Marking as attached')
  let saved: VolumeAttachment | undefined
  try {
    saved = await patchStatus(run, (va) => attachedPatch(va, context))
    // The answer shows what the cache had not seen yet: an error, or keys of an earlier publish beside this one's.
    if (newest(run).attached === true) await patchStatus(run, (va) => attachedPatch(va, context))
  } catch (error) {
    // The volume is where it should be, only the object does not say so: no error is recorded, the run is repeated.
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
