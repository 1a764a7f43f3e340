import { keysOf, type Outcome, type Run, SETTLED } from '@csi-sidecars/controller'
import { controllerClient, type Driver, volumeCapabilityOf } from '@csi-sidecars/csi'
import { isNotFound } from '@csi-sidecars/kube-client'
import {
  addFinalizerPatch,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  Quantity,
  removeFinalizerPatch,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import type { Claim } from '../caches/claim.ts'
import { type ControllerParts, type Life, refOf, runWorks } from '../control.ts'

/** What stands in for the sidecars where a test is about the controllers around them. */
export type StandInParts = Omit<ControllerParts, 'recorder'> & { readonly driver: Driver }

const FINALIZER = 'external-attacher/csi-example-com'
const LIMITS = { timeoutMs: 10_000 }

/** Attaches and detaches, in the shortest way that keeps to the contract of a VolumeAttachment. */
export async function runStandInAttacher(parts: StandInParts, life: Life): Promise<void> {
  const sources = [keysOf(parts.caches.attachments, (event) => (event.type === 'deleted' ? [] : [keyOf(event)]))]
  const reconcile = (key: string, { signal }: Run): Promise<Outcome> => attachOrDetach(key, parts, signal)
  await runWorks([{ of: 'attachment', workers: 20, sources, reconcile }], parts, life)
}

function keyOf(
  event: { type: 'added'; object: { key: string } } | { type: 'updated'; after: { key: string } },
): string {
  return event.type === 'added' ? event.object.key : event.after.key
}

async function attachOrDetach(name: string, parts: StandInParts, signal: AbortSignal): Promise<Outcome> {
  const { client, caches, driver } = parts
  const csi = controllerClient(driver)
  try {
    const va = await client.get(VOLUME_ATTACHMENTS, { name }, { signal })
    const { metadata, spec, status } = va
    const nodeId = caches.csiNodes.store.get(spec.nodeName)?.drivers.get(driver.name)?.nodeId ?? ''
    const pv = caches.volumes.store.get(spec.source.persistentVolumeName ?? '')
    if (pv?.csi === undefined) throw new Error(`no volume for ${name}`)
    const volumeId = pv.csi.volumeHandle
    const options = { ...LIMITS, signal }
    if (metadata?.deletionTimestamp != null) {
      const patch = removeFinalizerPatch(metadata.finalizers, FINALIZER)
      if (patch === undefined) return SETTLED
      await csi.unpublish({ volumeId, nodeId, secrets: {} }, options)
      caches.attachments.learn(await client.patch(VOLUME_ATTACHMENTS, { name }, patch, { signal }))
      return SETTLED
    }
    if (status?.attached) return SETTLED
    if (!metadata?.finalizers?.includes(FINALIZER)) {
      await client.patch(VOLUME_ATTACHMENTS, { name }, addFinalizerPatch(metadata?.finalizers, FINALIZER), { signal })
    }
    const volumeCapability = volumeCapabilityOf(pv, true)
    const request = { volumeId, nodeId, volumeCapability, readonly: false, secrets: {}, volumeContext: {} }
    const { publishContext } = await csi.publish(request, options)
    const body = { status: { attached: true, attachmentMetadata: publishContext } }
    const saved = await client.patch(
      VOLUME_ATTACHMENTS,
      { name },
      { kind: 'merge', body },
      { signal, subresource: 'status' },
    )
    caches.attachments.learn(saved)
    return SETTLED
  } catch (cause) {
    signal.throwIfAborted()
    return isNotFound(cause) ? SETTLED : { kind: 'retry', cause }
  }
}

/** Expands volumes as far as the controller goes, and leaves to the node what the driver says is the node's. */
export async function runStandInResizer(parts: StandInParts, life: Life): Promise<void> {
  const sources = [keysOf(parts.caches.claims, (event) => (event.type === 'deleted' ? [] : [keyOf(event)]))]
  const reconcile = (key: string, { signal }: Run): Promise<Outcome> => resize(key, parts, signal)
  await runWorks([{ of: 'claim', workers: 20, sources, reconcile }], parts, life)
}

async function resize(key: string, parts: StandInParts, signal: AbortSignal): Promise<Outcome> {
  const { caches, client, driver } = parts
  const claim = caches.claims.store.get(key)
  const volume = claim && caches.volumes.store.get(claim.volumeName)
  if (claim === undefined || volume?.csi === undefined || !wantsMore(claim)) return SETTLED
  const status = async (body: object): Promise<void> => {
    const options = { signal, subresource: 'status' }
    const patch = { kind: 'merge' as const, body: { status: body } }
    caches.claims.learn(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), patch, options))
  }
  const size = claim.request
  try {
    await status({
      allocatedResources: { storage: size },
      allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
    })
    const capacityRange = { requiredBytes: Quantity.parse(size).bytes(), limitBytes: 0n }
    const request = { volumeId: volume.csi.volumeHandle, capacityRange, secrets: {}, volumeCapability: undefined }
    const { nodeExpansionRequired } = await controllerClient(driver).expand(request, { ...LIMITS, signal })
    const patch = { kind: 'merge' as const, body: { spec: { capacity: { storage: size } } } }
    caches.volumes.learn(await client.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
    const finished = { capacity: { storage: size }, allocatedResourceStatuses: { storage: null } }
    const left = { allocatedResourceStatuses: { storage: 'NodeResizePending' } }
    await status(nodeExpansionRequired ? left : finished)
    return SETTLED
  } catch (cause) {
    signal.throwIfAborted()
    return isNotFound(cause) ? SETTLED : { kind: 'retry', cause }
  }
}

function wantsMore({ request, capacity, resizeStatus, phase }: Claim): boolean {
  const free = resizeStatus === undefined || resizeStatus === 'ControllerResizeInProgress'
  return phase === 'Bound' && free && Quantity.parse(request).compare(Quantity.parse(capacity ?? '0')) > 0
}
