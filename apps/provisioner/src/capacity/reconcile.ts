import { unreachable } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { isConflict, isNotFound } from '@csi-sidecars/kube-client'
import { CSI_STORAGE_CAPACITIES, namespacedRef } from '@csi-sidecars/kube-types'
import { type AskDriverStep, decideCapacity, decidePublication, type PublicationStep } from './decide.ts'
import { type CapacityObject, newCapacityObject, updatedCapacityObject } from './object.ts'
import { observeCapacity } from './observe.ts'
import type { CapacityRun } from './run.ts'

/** Decides the next steps for one class and topology segment, and performs them in their order. */
export async function reconcileCapacity(key: string, run: CapacityRun): Promise<Outcome> {
  for (const step of decideCapacity(observeCapacity(key, run.deps))) {
    switch (step.kind) {
      case 'delete':
        await deleteObject(run, step.object)
        break
      case 'askDriver':
        await publishCapacity(run, step)
        break
      default:
        unreachable(step)
    }
  }
  return SETTLED
}

async function publishCapacity(run: CapacityRun, { parameters, item, object }: AskDriverStep): Promise<void> {
  const { deps, signal } = run
  const answer = await deps.getCapacity({ parameters, segments: item.segments }, signal)
  const capacity = { available: answer.availableCapacity, maximum: answer.maximumVolumeSize }
  for (const step of decidePublication({ item, object, capacity })) await performPublication(run, step)
}

async function performPublication(run: CapacityRun, step: PublicationStep): Promise<void> {
  await run.bucket?.acquire(run.signal)
  switch (step.kind) {
    case 'create':
      return await createObject(run, step)
    case 'update':
      return await updateObject(run, step)
    default:
      return unreachable(step)
  }
}

async function createObject(
  { deps, signal }: CapacityRun,
  { item, capacity }: PublicationStep & { kind: 'create' },
): Promise<void> {
  const { api, objects, settings } = deps
  const created = newCapacityObject(item, capacity, settings)
  objects.storeAnswer(await api.create(CSI_STORAGE_CAPACITIES, created, { signal }))
}

/** Reads the stored object before the update, because a PUT replaces all of its fields. */
async function updateObject(
  { deps, signal }: CapacityRun,
  { object, capacity }: PublicationStep & { kind: 'update' },
): Promise<void> {
  const { api, objects, settings } = deps
  const stored = await api.get(CSI_STORAGE_CAPACITIES, namespacedRef(object.key), { signal })
  const updated = updatedCapacityObject(stored, capacity, settings)
  objects.storeAnswer(await api.replace(CSI_STORAGE_CAPACITIES, updated, { signal }))
}

async function deleteObject({ deps, bucket, signal }: CapacityRun, { key, uid }: CapacityObject): Promise<void> {
  await bucket?.acquire(signal)
  try {
    await deps.api.delete(CSI_STORAGE_CAPACITIES, namespacedRef(key), { signal, uid })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}
