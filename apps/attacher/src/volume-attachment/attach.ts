import { unreachable } from '@csi-sidecars/base'
import { AGAIN, type Outcome } from '@csi-sidecars/controller'
import { isNotFound } from '@csi-sidecars/kube-client'
import type { SecretRef } from '@csi-sidecars/sidecar'
import type { CachedVolume } from '../caches/volume.ts'
import { decideAttach } from './decide-attach.ts'
import { OperationError, rethrowAs } from './failure.ts'
import { loadSecret } from './load-secret.ts'
import type { AttachmentView } from './observe.ts'
import { isVolumeGone, markAttached, type PublishContext, publish } from './publish.ts'
import { recordFailure, waitForCause } from './record-failure.ts'
import type { AttachmentRun } from './run.ts'
import type { AttachStep } from './steps.ts'

/** The steps of an attach, and the state of the objects from which they were decided. */
interface AttachPlan {
  readonly view: AttachmentView
  readonly steps: readonly AttachStep[]
}

export async function attach(run: AttachmentRun, plan: AttachPlan): Promise<Outcome> {
  run.log.v(2)?.info('Attaching')
  let context: PublishContext
  try {
    const current = await withVolumeFinalizer(run, plan)
    if (current === undefined) return AGAIN
    const published = await performAttach(run, current)
    if (published === undefined) return AGAIN
    context = published
  } catch (error) {
    return await recordFailure(run, 'attach', error)
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
    return rethrowAs('could not add PersistentVolume finalizer')(error)
  })
  log.v(4)?.info('PersistentVolume finalizer added', { PersistentVolume: name })
  return pv
}

/** Performs the steps of an attach. Undefined: the attachment or its volume was deleted before the publish. */
async function performAttach(run: AttachmentRun, { view, steps }: AttachPlan): Promise<PublishContext | undefined> {
  const { deps, signal, log, stored } = run
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
        secret = await loadSecret(deps.api, step.ref, { signal, ...stored.priorityOf('attach') })
        break
      case 'addFinalizer': {
        const result = await stored.addFinalizer(step).catch(rethrowAs('could not save VolumeAttachment'))
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
