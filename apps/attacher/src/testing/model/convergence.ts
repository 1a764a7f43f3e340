import { invariant } from '@csi-sidecars/base'
import { CSI_NODES, type CSINode, PERSISTENT_VOLUMES, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { FINALIZER } from '../views.ts'
import type { Stored } from './api.ts'
import { handleOf, isClaimed, nodeIdOf, pairs, vaName, type World } from './world.ts'

/** Several back-offs at their longest, and more listings than confirmations. */
const LONG_MS = 10 * 60_000

/** Faults are over: everything passes, everything is told, and time goes by. */
export async function calmDown(world: World): Promise<void> {
  world.start()
  const { process } = world
  invariant(process !== undefined, 'a process runs')
  const leave = world.api.onChange(() => process.deliver())
  process.gate.open()
  process.driver.comeBack()
  process.deliver()
  await world.clock.advance(LONG_MS)
  process.deliver()
  await world.clock.settle()
  leave()
}

/** What must have come of everything in the end. */
export function checkConverged(world: World): void {
  for (const { volume, node } of pairs()) checkAttachment(world, volume, node)
  for (const pv of world.api.list(PERSISTENT_VOLUMES)) checkVolume(world, pv)
}

function checkAttachment(world: World, volume: string, node: string): void {
  const name = vaName(volume, node)
  const va = world.attachment(volume, node)
  const isAttached = world.storage.has({ volumeId: handleOf(volume), nodeId: nodeIdOf(node) })
  if (va === undefined) {
    invariant(!isAttached, `${name} is gone and attached`)
    return
  }
  const { attached = false, attachError, detachError } = va.status ?? {}
  const error = attachError?.message ?? detachError?.message ?? 'no error'
  const told = `${name}: attached ${attached}, at the driver ${isAttached}, ${error}`
  const obstacle = obstacleOf(world, volume, node)
  if (va.metadata.deletionTimestamp !== undefined) {
    invariant(!isClaimed(va), `still claimed: ${told}`)
    invariant(!isAttached, `never detached: ${told}`)
    // A status that could not be told with the end of the claim is set right by a comparison, which leaves out inline.
    invariant(!attached || volume === 'inline', `detached, and the status does not say so: ${told}`)
  } else if (attached) {
    invariant(isClaimed(va), `attached without a claim: ${told}`)
    // What somebody took away behind our back comes back unless something is in the way.
    invariant(isAttached || obstacle !== undefined, `marked as attached: ${told}`)
    // The error of one more attach stays when the volume turns out to be attached after all.
    invariant(attachError == null || world.blurred.has(name), `attached with an error: ${told}`)
  } else {
    invariant(obstacle !== undefined, `not attached: ${told}`)
    invariant(attachError?.message === obstacle, `tells something else than "${obstacle}": ${told}`)
  }
}

/** Why an attach cannot succeed; undefined when it can. */
function obstacleOf({ api }: World, volume: string, node: string): string | undefined {
  if (volume !== 'inline') {
    const pv = api.get(PERSISTENT_VOLUMES, volume)
    if (pv === undefined) return `persistentvolume "${volume}" not found`
    if (pv.metadata.deletionTimestamp !== undefined) return `PersistentVolume "${volume}" is marked for deletion`
  }
  const csiNode = api.get(CSI_NODES, node) as CSINode | undefined
  if (csiNode === undefined) return `csinode.storage.k8s.io "${node}" not found`
  return csiNode.spec.drivers == null ? `CSINode ${node} does not contain driver csi.example.com` : undefined
}

function checkVolume(world: World, pv: Stored): void {
  const { name, deletionTimestamp, finalizers = [], annotations } = pv.metadata
  const ours = finalizers.filter((each) => each === FINALIZER).length
  invariant(ours <= 1, `${name} has our finalizer ${ours} times`)
  // One that was given back can be taken again while its release is under way; nobody does that to it in earnest.
  const givenBack = name === 'inTree' && annotations === undefined
  const inUse = pairs().filter(({ volume, node }) => volume === name && world.attachment(volume, node) !== undefined)
  for (const { volume, node } of inUse) {
    const va: VolumeAttachment | undefined = world.attachment(volume, node)
    if (va?.status?.attached === true && !givenBack) invariant(ours === 1, `${name} is attached and not held`)
  }
  if ((deletionTimestamp !== undefined || givenBack) && inUse.length === 0)
    invariant(ours === 0, `${name} could go, and is still held`)
}
