import { type Controller, enqueueOn, presentKey, SETTLED } from '@csi-sidecars/controller'
import { controllerClient, type Driver, volumeCapabilityOf } from '@csi-sidecars/csi'
import {
  addFinalizerPatch,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  Quantity,
  refOf,
  removeFinalizerPatch,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { provisioner } from '@csi-sidecars/provisioner'
import { type Program, programOf } from '@csi-sidecars/sidecar'
import { runInProcess } from '@csi-sidecars/sidecar/testing'
import { snapshotter } from '@csi-sidecars/snapshotter'
import { baseController, type Claim, type ControllerParts, settledUnlessFailed } from '@csi-sidecars/volume-controllers'
import { flagsOf, type SidecarApp } from '../cluster/binaries.ts'
import type { Devcluster } from '../cluster/devcluster.ts'

/** The dependencies of the controllers that act in place of the sidecars. */
type SubstituteParts = Omit<ControllerParts, 'recorder'> & { readonly driver: Driver }

export type SubstituteName = 'csi-attacher' | 'csi-resizer' | 'csi-provisioner' | 'csi-snapshotter'

/** Starts the named sidecars in this process: simple substitutes for attacher and resizer, real code for the others. */
export function startSubstitutes(
  cluster: Devcluster,
  { clock, log }: Pick<ControllerParts, 'clock' | 'log'>,
  names: readonly SubstituteName[] = SUBSTITUTES,
): void {
  const deps = { ...cluster, clock, log }
  for (const name of names) cluster.controllers.start(name, () => [CREATE[name](deps)])
}

const CREATE: Readonly<Record<SubstituteName, (deps: SubstituteParts & Devcluster) => Controller>> = {
  'csi-attacher': substituteAttacher,
  'csi-resizer': substituteResizer,
  'csi-provisioner': (deps) => inProcess('provisioner', programOf(provisioner), deps),
  'csi-snapshotter': (deps) => inProcess('snapshotter', programOf(snapshotter), deps),
}
/** The default substitutes. The snapshotter is not one of them, because it ends if the driver has no snapshots. */
export const SUBSTITUTES = ['csi-attacher', 'csi-resizer', 'csi-provisioner'] as const

/** Runs a real sidecar in this process. */
function inProcess(app: SidecarApp, program: Program, deps: SubstituteParts & Devcluster): Controller {
  const args = [...flagsOf(app, deps.connection), '--retry-interval-start=100ms']
  return {
    ...baseController(app, deps),
    workers: 1,
    sources: [],
    reconcile: async () => SETTLED,
    alongside: async (_, stop) => {
      if (stop.aborted) return
      const { log } = await runInProcess(program, args, { signal: stop })
      if (!stop.aborted) throw new Error(log)
    },
  }
}

const FINALIZER = 'external-attacher/csi-example-com'
const LIMITS = { timeoutMs: 10_000 }

/** A minimal substitute for the csi-attacher. */
function substituteAttacher(deps: SubstituteParts): Controller {
  return {
    ...baseController('attachment', deps),
    workers: 20,
    sources: [enqueueOn(deps.caches.attachments, presentKey)],
    reconcile: (key, { signal }) => settledUnlessFailed(attachOrDetach(key, deps, signal)),
  }
}

async function attachOrDetach(name: string, deps: SubstituteParts, signal: AbortSignal): Promise<void> {
  const { client, caches, driver } = deps
  const csi = controllerClient(driver)
  const va = await client.get(VOLUME_ATTACHMENTS, { name }, { signal })
  const { metadata, spec, status } = va
  const nodeId = caches.csiNodes.store.get(spec.nodeName)?.drivers.get(driver.name)?.nodeId ?? ''
  const pv = caches.volumes.store.get(spec.source.persistentVolumeName ?? '')
  if (pv?.csi === undefined) throw new Error(`no volume for ${name}`)
  const volumeId = pv.csi.volumeHandle
  const options = { ...LIMITS, signal }
  if (metadata?.deletionTimestamp != null) {
    const patch = removeFinalizerPatch(metadata.finalizers, FINALIZER)
    if (patch === undefined) return
    await csi.unpublish({ volumeId, nodeId, secrets: {} }, options)
    caches.attachments.storeAnswer(await client.patch(VOLUME_ATTACHMENTS, { name }, patch, { signal }))
    return
  }
  if (status?.attached) return
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
  caches.attachments.storeAnswer(saved)
}

/** A minimal resizer. It expands volumes at the controller, and lets the node finish if the driver requires it. */
function substituteResizer(deps: SubstituteParts): Controller {
  return {
    ...baseController('claim', deps),
    workers: 20,
    sources: [enqueueOn(deps.caches.claims, presentKey)],
    reconcile: (key, { signal }) => settledUnlessFailed(resize(key, deps, signal)),
  }
}

async function resize(key: string, deps: SubstituteParts, signal: AbortSignal): Promise<void> {
  const { caches, client, driver } = deps
  const claim = caches.claims.store.get(key)
  const volume = claim && caches.volumes.store.get(claim.volumeName)
  if (claim === undefined || volume?.csi === undefined || !wantsMore(claim)) return
  const status = async (body: object): Promise<void> => {
    const options = { signal, subresource: 'status' }
    const patch = { kind: 'merge' as const, body: { status: body } }
    caches.claims.storeAnswer(await client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(key), patch, options))
  }
  const size = claim.request
  await status({
    allocatedResources: { storage: size },
    allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
  })
  const capacityRange = { requiredBytes: Quantity.parse(size).bytes(), limitBytes: 0n }
  const request = { volumeId: volume.csi.volumeHandle, capacityRange, secrets: {}, volumeCapability: undefined }
  const { nodeExpansionRequired } = await controllerClient(driver).expand(request, { ...LIMITS, signal })
  const patch = { kind: 'merge' as const, body: { spec: { capacity: { storage: size } } } }
  caches.volumes.storeAnswer(await client.patch(PERSISTENT_VOLUMES, { name: volume.key }, patch, { signal }))
  const finished = { capacity: { storage: size }, allocatedResourceStatuses: { storage: null } }
  const left = { allocatedResourceStatuses: { storage: 'NodeResizePending' } }
  await status(nodeExpansionRequired ? left : finished)
}

function wantsMore({ request, capacity, resizeStatus, phase }: Claim): boolean {
  const free = resizeStatus === undefined || resizeStatus === 'ControllerResizeInProgress'
  return phase === 'Bound' && free && Quantity.parse(request).compare(Quantity.parse(capacity ?? '0')) > 0
}
