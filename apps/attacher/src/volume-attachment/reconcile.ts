import { type Clock, messageOf, unreachable } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { secretsFrom } from '@csi-sidecars/csi'
import type { ControllerPublishVolumeRequest, ControllerUnpublishVolumeRequest } from '@csi-sidecars/csi-proto'
import type { Informer } from '@csi-sidecars/informer'
import { isNotFound, type KubeClient } from '@csi-sidecars/kube-client'
import { type Patch, SECRETS, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Attachment } from '../caches/attachment.ts'
import type { VolumeHolder } from '../persistent-volume/hold.ts'
import { type AttachStep, decideAttach, type SecretRef } from './decide-attach.ts'
import { type DetachStep, decideDetach } from './decide-detach.ts'
import { during, type Failure, failureOf, OperationError } from './failure.ts'
import type { AttachmentMemory } from './memory.ts'
import type { AttachmentView } from './observe.ts'
import {
  attachErrorPatch,
  attachedPatch,
  claimPatch,
  detachErrorPatch,
  detachedPatch,
  unclaimPatch,
} from './patches.ts'

export interface CallOptions {
  readonly migrated: boolean
  readonly signal: AbortSignal
  /** Names the attachment in the lines about the call. */
  readonly log: Logger
}

/** The two calls of this controller, with the deadline of --timeout. */
export interface PublishClient {
  publish(request: ControllerPublishVolumeRequest, options: CallOptions): Promise<Readonly<Record<string, string>>>
  unpublish(request: ControllerUnpublishVolumeRequest, options: CallOptions): Promise<void>
  /** Whether the driver is away at the moment. */
  readonly lost: boolean
}

export interface AttachmentDeps {
  /** Refuses writes once this process no longer leads. */
  readonly api: KubeClient
  readonly driver: PublishClient
  readonly attachments: Pick<Informer<Attachment, VolumeAttachment>, 'learn' | 'store'>
  readonly holder: VolumeHolder
  readonly memory: AttachmentMemory
  /** The attachment as it is now; undefined when it is gone or not ours. */
  readonly observe: (key: string, forced: boolean, signal: AbortSignal) => Promise<AttachmentView | undefined>
  /** Gate MutableCSINodeAllocatableCount. */
  readonly tellErrorCode: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** One run over one attachment. `va` is what the run has learned of it; `newest` knows what others have done since. */
interface Run {
  readonly key: string
  readonly deps: AttachmentDeps
  readonly log: Logger
  readonly signal: AbortSignal
  va: Attachment
}

export async function reconcileAttachment(key: string, deps: AttachmentDeps, signal: AbortSignal): Promise<Outcome> {
  deps.memory.stopWaiting(key)
  const view = await deps.observe(key, deps.memory.takeForce(key), signal)
  const log = deps.log.with({ VolumeAttachment: key })
  if (view === undefined) {
    deps.memory.forget(key)
    log.v(3)?.info('VolumeAttachment was deleted, ignoring')
    return SETTLED
  }
  log.v(4)?.info('Started VolumeAttachment processing')
  const run: Run = { key, deps, log, signal, va: view.va }
  const outcome = view.va.deleting ? await detach(run, view) : await attach(run, view)
  log.v(4)?.info('CSIHandler: finished processing', { outcome: outcome.kind })
  // Its failure says nothing of an attachment that was made anew under its name, so that one's back-off is its own.
  const gone = deps.attachments.store.get(key)?.uid !== view.va.uid
  return gone && outcome.kind === 'retry' ? { kind: 'retryAfter', ms: 0, cause: outcome.cause } : outcome
}

async function attach(run: Run, view: AttachmentView): Promise<Outcome> {
  const steps = decideAttach(view)
  expectCause(run, steps)
  if (steps.length === 0) {
    run.log.v(4)?.info('VolumeAttachment is already attached')
    return SETTLED
  }
  run.log.v(2)?.info('Attaching')
  let context: Readonly<Record<string, string>>
  try {
    context = await performAttach(run, steps)
  } catch (error) {
    return await failed(run, 'attach', error)
  }
  run.log.v(2)?.info('Attached')
  run.log.v(4)?.info('Marking as attached')
  try {
    const change = (va: Attachment): Patch => attachedPatch(va, context)
    await patchStatus(run, change)
    // The answer shows what the cache had not seen yet, such as an error that was stored though nobody heard of it.
    if (run.va.attachError !== undefined) await patchStatus(run, change)
  } catch (error) {
    // The volume is where it should be, only the object does not say so: no error is told, the run is repeated.
    run.signal.throwIfAborted()
    const cause = new OperationError(`failed to mark as attached: ${messageOf(error)}`, { cause: error })
    return { kind: 'retry', cause }
  }
  run.log.v(4)?.info('Fully attached')
  if (run.va.attached === true || run.va.deleting) return SETTLED
  return { kind: 'retry', cause: new OperationError('somebody has set the status back') }
}

async function performAttach(run: Run, steps: readonly AttachStep[]): Promise<Readonly<Record<string, string>>> {
  const { deps, signal, log } = run
  let secret: Readonly<Record<string, string>> = {}
  log.v(4)?.info('Starting attach operation')
  for (const step of steps) {
    switch (step.do) {
      case 'holdVolume':
        log.v(4)?.info('Adding finalizer to PersistentVolume', { PersistentVolume: step.name })
        await deps.holder.hold(step.name, signal).catch(during('could not add PersistentVolume finalizer'))
        log.v(4)?.info('PersistentVolume finalizer added', { PersistentVolume: step.name })
        break
      case 'loadSecret':
        secret = await loadSecret(run, step.ref)
        break
      case 'claim': {
        const claim = claimPatch(newest(run), step.nodeId, step.finalizer)
        if (claim === undefined) break
        await patch(run, claim).catch(during('could not save VolumeAttachment'))
        log.v(4)?.info('VolumeAttachment finalizer and NodeID annotation saved', { nodeID: step.nodeId })
        break
      }
      case 'publish':
        return await deps.driver.publish(
          { ...step.request, secrets: secretsFrom(secret) },
          { migrated: step.migrated, signal, log },
        )
      case 'fail':
        throw new OperationError(step.message)
      default:
        unreachable(step)
    }
  }
  throw new OperationError('the plan of an attach ended without a publish')
}

async function detach(run: Run, view: AttachmentView): Promise<Outcome> {
  const steps = decideDetach(view)
  expectCause(run, steps)
  if (steps.length === 0) {
    run.log.v(4)?.info('VolumeAttachment is already detached')
    return SETTLED
  }
  run.log.v(2)?.info('Detaching')
  try {
    const told = await performDetach(run, steps)
    if (!told) await tellDetached(run)
  } catch (error) {
    return await failed(run, 'detach', error)
  }
  run.deps.memory.stopOwing(run.key)
  run.log.v(4)?.info('Fully detached')
  return SETTLED
}

/**
 * Whether the status need not be told: an attachment that only our finalizer held is gone with it, and one without our
 * finalizer may say that it is detached already.
 */
async function performDetach(run: Run, steps: readonly DetachStep[]): Promise<boolean> {
  const { deps, signal, log } = run
  let secret: Readonly<Record<string, string>> = {}
  log.v(4)?.info('Starting detach operation')
  for (const step of steps) {
    switch (step.do) {
      case 'loadSecret':
        secret = await loadSecret(run, step.ref)
        break
      case 'unpublish':
        await deps.driver.unpublish(
          { ...step.request, secrets: secretsFrom(secret) },
          { migrated: step.migrated, signal, log },
        )
        log.v(2)?.info('Detached')
        break
      case 'unclaim': {
        const unclaim = unclaimPatch(newest(run), step.finalizer)
        const saved = await patch(run, unclaim).catch(during('could not mark as detached'))
        log.v(4)?.info('Finalizer removed')
        return (saved.metadata?.finalizers ?? []).length === 0
      }
      case 'tellDetached':
        return false
      case 'fail':
        throw new OperationError(step.message)
      default:
        unreachable(step)
    }
  }
  return newest(run).attached !== true
}

/** Owed from now on until it is done: without our claim nothing else would bring another try. */
async function tellDetached(run: Run): Promise<void> {
  run.deps.memory.oweStatus(run.key)
  run.log.v(4)?.info('Marking as detached')
  try {
    await patchStatus(run, detachedPatch)
  } catch (error) {
    // It went with its last finalizer.
    if (!isNotFound(error)) during('could not mark as detached')(error)
  }
}

/** From the decision on, not from the failure on: what is missing may come while the steps before the failure run. */
function expectCause({ deps, key }: Run, steps: readonly (AttachStep | DetachStep)[]): void {
  const last = steps.at(-1)
  if (last?.do === 'fail' && last.waitsFor !== undefined) deps.memory.waitFor(key, last.waitsFor)
}

/** The Secret's encoded data: read for each call, never kept, decoded only for the call. */
async function loadSecret({ deps, signal }: Run, ref: SecretRef): Promise<Readonly<Record<string, string>>> {
  const secret = await deps.api
    .get(SECRETS, ref, { signal })
    .catch(during(`failed to load secret "${ref.namespace}/${ref.name}"`))
  return secret.data ?? {}
}

async function failed(run: Run, operation: 'attach' | 'detach', error: unknown): Promise<Outcome> {
  // Called off by shutdown or a lost lease: that is no failure of the volume, and whoever leads next tries again.
  run.signal.throwIfAborted()
  const { deps, key } = run
  const failure = failureOf(error, deps.driver.lost)
  if (failure.awaitsDriver) deps.memory.waitFor(key, { on: 'driver' })
  if (failure.tell) await tell(run, operation, failure)
  const cause = new OperationError(`failed to ${operation}: ${failure.message}`, { cause: error })
  if (failure.retryAfterMs !== undefined) return { kind: 'retryAfter', ms: failure.retryAfterMs, cause }
  return { kind: 'retry', cause }
}

async function tell(run: Run, operation: 'attach' | 'detach', failure: Failure): Promise<void> {
  const { deps } = run
  const now = deps.clock.now()
  run.log.v(4)?.info(`Saving ${operation} error`)
  const code = deps.tellErrorCode ? failure.code : undefined
  try {
    await patchStatus(run, (va) =>
      operation === 'attach'
        ? attachErrorPatch(va, { message: failure.message, code }, now)
        : detachErrorPatch(va, failure, now),
    )
    run.log.v(4)?.info(`Saved ${operation} error`)
  } catch (error) {
    run.signal.throwIfAborted()
    run.log.v(2)?.info(`Failed to save ${operation} error to VolumeAttachment`, { err: messageOf(error) })
  }
}

async function patch(run: Run, change: Patch, subresource?: string): Promise<VolumeAttachment> {
  const { deps, key, signal } = run
  const options = subresource === undefined ? { signal } : { signal, subresource }
  const saved = await deps.api.patch(VOLUME_ATTACHMENTS, { name: key }, change, options)
  run.va = deps.attachments.learn(saved) ?? run.va
  return saved
}

function patchStatus(run: Run, change: (va: Attachment) => Patch): Promise<VolumeAttachment> {
  return patch(run, change(newest(run)), 'status')
}

/** What a patch is made from: a foreign finalizer, say, may have gone while a call was under way. */
function newest({ deps, key, va }: Run): Attachment {
  const known = deps.attachments.store.get(key)
  return known?.uid === va.uid ? known : va
}
