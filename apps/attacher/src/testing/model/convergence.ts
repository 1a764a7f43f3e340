import { invariant } from '@csi-sidecars/base'
import {
  CSI_NODES,
  type CSINode,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { FINALIZER } from '../views.ts'
import { type AttacherModel, hasFinalizer, pairs, vaName } from './attacher-model.ts'

/** A time with several of the longest back-offs, and with enough ListVolumes listings for a comparison. */
const LONG_MS = 10 * 60_000

/** Ends all faults: all requests are answered, all events are delivered, and time passes. */
export async function calmDown(model: AttacherModel): Promise<void> {
  model.start()
  const { process } = model
  invariant(process !== undefined, 'a process runs')
  process.deliverAtOnce()
  process.gate.open()
  process.driver.comeBack()
  // An ended watch opens again after a pause, and its events must be delivered.
  for (let turn = 0; turn < 3; turn += 1) {
    process.deliver()
    await model.clock.advance(LONG_MS)
  }
}

/** Checks that the API objects and the storage agree after all faults have ended. */
export function checkConverged(model: AttacherModel): void {
  for (const { volume, node } of pairs()) checkAttachment(model, volume, node)
  for (const pv of model.api.server.list(PERSISTENT_VOLUMES)) checkVolume(model, pv)
}

function checkAttachment(model: AttacherModel, volume: string, node: string): void {
  const name = vaName(volume, node)
  const va = model.attachment(volume, node)
  const places = model.attachedFor(volume, node).filter((place) => !model.isLost(place))
  const where = places.map(({ volumeId, nodeId }) => `${volumeId} on ${nodeId}`).join(', ') || 'nowhere'
  if (va === undefined) {
    invariant(places.length === 0, `${name} is gone and attached: ${where}`)
    return
  }
  const { attached = false, attachError, detachError } = va.status ?? {}
  const error = attachError?.message ?? detachError?.message ?? 'no error'
  const state = `${name}: attached ${attached}, in the back end ${where}, ${error}`
  const obstacle = obstacleOf(model, volume, node)
  if (va.metadata?.deletionTimestamp !== undefined) {
    // A volume that was deleted while it was attached blocks the detach for ever, and the error says so.
    if (model.remadeVolumes.has(volume) && detachError?.message === `persistentvolume "${volume}" not found`) return
    invariant(!hasFinalizer(va), `still with our finalizer: ${state}`)
    invariant(places.length === 0, `never detached: ${state}`)
    // If the status was not stored after the removal of our finalizer, the next listing leads to its correction. Inline
    // volumes are not compared with a listing.
    invariant(!attached || volume === 'inline', `detached, and the status does not say so: ${state}`)
  } else if (attached) {
    invariant(hasFinalizer(va), `attached without our finalizer: ${state}`)
    // The attacher reverts other writers' changes, unless an attach cannot succeed.
    invariant(isWhereItShould(model, volume, node) || obstacle !== undefined, `marked as attached: ${state}`)
    // If an attach was repeated, its error may stay in the status although the volume is attached.
    invariant(
      attachError == null || model.blurred.has(name) || model.remade.has(name),
      `attached with an error: ${state}`,
    )
  } else {
    invariant(obstacle !== undefined, `not attached: ${state}`)
    invariant(attachError?.message === obstacle, `stores something else than "${obstacle}": ${state}`)
  }
}

/**
 * Reports whether the volume is published under its current handle and node ID. An inline volume may be published under
 * another ID of the node, because it is not compared with the listing.
 */
function isWhereItShould(model: AttacherModel, volume: string, node: string): boolean {
  if (volume === 'inline') return model.attachedFor(volume, node).length > 0
  const [volumeId, nodeId] = [model.handleNow(volume), model.nodeIdNow(node)]
  return volumeId !== undefined && nodeId !== undefined && model.storage.has({ volumeId, nodeId })
}

/** Returns the reason why an attach cannot succeed. Undefined if it can. */
function obstacleOf({ api }: AttacherModel, volume: string, node: string): string | undefined {
  if (volume !== 'inline') {
    const pv = api.server.get(PERSISTENT_VOLUMES, { name: volume })
    if (pv === undefined) return `persistentvolume "${volume}" not found`
    if (pv.metadata?.deletionTimestamp !== undefined) return `PersistentVolume "${volume}" is marked for deletion`
  }
  const csiNode = api.server.get(CSI_NODES, { name: node }) as CSINode | undefined
  if (csiNode === undefined) return `csinode.storage.k8s.io "${node}" not found`
  return (csiNode.spec.drivers ?? []).length === 0
    ? `CSINode ${node} does not contain driver csi.example.com`
    : undefined
}

function checkVolume(model: AttacherModel, pv: PersistentVolume): void {
  const { name = '', deletionTimestamp, finalizers = [], annotations } = pv.metadata ?? {}
  const ours = finalizers.filter((each) => each === FINALIZER).length
  invariant(ours <= 1, `${name} has our finalizer ${ours} times`)
  // The model may switch migration on again while our finalizer is being removed. No real user does that.
  const givenBack = name === 'in-tree' && annotations === undefined
  const inUse = pairs().filter(({ volume, node }) => volume === name && model.attachment(volume, node) !== undefined)
  for (const { volume, node } of inUse) {
    const va: VolumeAttachment | undefined = model.attachment(volume, node)
    if (va?.status?.attached === true && !givenBack && !model.remadeVolumes.has(name))
      invariant(ours === 1, `${name} is attached and not held`)
  }
  if ((deletionTimestamp !== undefined || givenBack) && inUse.length === 0)
    invariant(ours === 0, `${name} could go, and is still held`)
}
