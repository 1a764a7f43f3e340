import { endPlan, next, type PlanCheck, type PlanCheckResult, planOf } from '@csi-sidecars/controller'
import type { Class } from '../caches/cluster.ts'
import type { CapacityItem } from './items.ts'
import { type Capacity, type CapacityObject, isUpToDate } from './object.ts'

/** A class and a topology segment with their CSIStorageCapacity objects, read at one moment. */
export interface CapacityView {
  /** The CSIStorageCapacity that should exist. Undefined if the class or the segment is gone. */
  readonly item: CapacityItem | undefined
  /** The StorageClass of the item. Undefined if the cache does not have the class. */
  readonly class: Pick<Class, 'parameters'> | undefined
  /** The existing objects for the class and the segment. */
  readonly objects: readonly CapacityObject[]
}

/** A CSIStorageCapacity that should exist, and the answer of the driver about it. */
export interface PublicationView {
  readonly item: CapacityItem
  /** The existing object. Undefined if there is none. */
  readonly object: CapacityObject | undefined
  readonly capacity: Capacity
}

export type CapacityStep =
  /** Deletes an object that is not needed. */
  { readonly kind: 'delete'; readonly object: CapacityObject } | AskDriverStep

/** Calls GetCapacity. `decidePublication` decides the later steps by the answer. */
export interface AskDriverStep {
  readonly kind: 'askDriver'
  readonly parameters: Class['parameters']
  readonly item: CapacityItem
  /** The object that the answer may change. Undefined if there is none. */
  readonly object: CapacityObject | undefined
}

export type PublicationStep =
  | { readonly kind: 'create'; readonly item: CapacityItem; readonly capacity: Capacity }
  | { readonly kind: 'update'; readonly object: CapacityObject; readonly capacity: Capacity }

/** The checks of a class and a topology segment before the driver is asked. */
const CAPACITY_CHECKS: readonly PlanCheck<CapacityView, CapacityStep>[] = [
  objectsAreObsolete, // Deletes all objects of an item that should not exist, and all but one of any other item.
  capacityIsUnknown, // Asks the driver, unless the item should not exist or its class is gone.
]

/** The checks of a class and a topology segment after the driver has answered GetCapacity. */
const PUBLICATION_CHECKS: readonly PlanCheck<PublicationView, PublicationStep>[] = [
  objectIsMissing, // Creates the object.
  objectIsOutdated, // Updates the object. Writes nothing if capacity and owner are unchanged.
]

/** Returns the steps for a class and a topology segment in the order of their requests. */
export function decideCapacity(view: CapacityView): readonly CapacityStep[] {
  return planOf(CAPACITY_CHECKS, view)
}

/** Returns the write that publishes the capacity. Empty if the object is up to date. */
export function decidePublication(view: PublicationView): readonly PublicationStep[] {
  return planOf(PUBLICATION_CHECKS, view)
}

function objectsAreObsolete({ item, objects }: CapacityView): PlanCheckResult<CapacityStep> {
  const obsolete = item === undefined ? objects : objects.slice(1)
  return { steps: obsolete.map((object) => ({ kind: 'delete', object })), isLast: false }
}

function capacityIsUnknown({ item, class: storageClass, objects }: CapacityView): PlanCheckResult<CapacityStep> {
  if (item === undefined || storageClass === undefined) return undefined
  return next({ kind: 'askDriver', parameters: storageClass.parameters, item, object: objects[0] })
}

function objectIsMissing({ item, object, capacity }: PublicationView): PlanCheckResult<PublicationStep> {
  return object === undefined ? endPlan({ kind: 'create', item, capacity }) : undefined
}

function objectIsOutdated({ object, capacity }: PublicationView): PlanCheckResult<PublicationStep> {
  if (object === undefined || isUpToDate(object, capacity)) return undefined
  return endPlan({ kind: 'update', object, capacity })
}
