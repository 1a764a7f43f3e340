import { messageOf } from '@csi-sidecars/base'
import { type Outcome, SETTLED } from '@csi-sidecars/controller'
import { CODES, classify, type Driver, RpcError, secretsFrom } from '@csi-sidecars/csi'
import {
  ControllerServiceCapability_RPC_Type as ControllerRpc,
  CreateVolume,
  type CreateVolumeRequest,
  type Volume as CsiVolume,
  DeleteVolume,
} from '@csi-sidecars/csi-proto'
import { isAlreadyExists, isConflict, isNotFound } from '@csi-sidecars/kube-client'
import {
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  removeFinalizerPatch,
  SECRETS,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { PROVISIONER_FINALIZER, SELECTED_NODE } from '../caches/annotations.ts'
import { ATTACHMENTS_BY_VOLUME } from '../caches/caches.ts'
import type { Claim } from '../caches/claim.ts'
import type { Volume } from '../caches/volume.ts'
import { type ControllerParts, except, refOf, targetOf } from '../control.ts'
import { CALL_MS } from '../driver/driver.ts'
import { sourceHandle } from './clone.ts'
import { type ClassParameters, classParameters, type SecretRef } from './parameters.ts'
import {
  allowedTopology,
  createVolumeRequest,
  decideProvision,
  type ProvisionDecision,
  provisionedVolume,
  topologyFor,
  volumeNameOf,
} from './provision.ts'
import { decideReclaim } from './reclaim.ts'

export interface ProvisionerParts extends ControllerParts {
  readonly driver: Driver
  /** Claims whose volume the driver may have created without a PersistentVolume in the API, by UID. */
  readonly uncertain: Map<string, Unfinished>
  readonly identity: string
}

interface Unfinished {
  readonly claim: Claim
  /** The handle of the volume to clone. */
  readonly source: string | undefined
}

/** Creates a volume for a claim that names this driver. */
export async function reconcileProvision(key: string, parts: ProvisionerParts, signal: AbortSignal): Promise<Outcome> {
  const claim = claimToProvision(key, parts)
  if (claim === undefined) return SETTLED
  const { caches, driver, recorder, uncertain } = parts
  const storageClass = caches.classes.store.get(claim.className ?? '')
  const decision = decideProvision({
    claim,
    storageClass,
    driverName: driver.name,
    isProvisioned: caches.volumes.store.get(volumeNameOf(claim)) !== undefined,
    uncertain: uncertain.has(claim.uid),
  })
  if (decision.do === 'nothing') return SETTLED
  const record = (type: 'Normal' | 'Warning', reason: string, message: string): void =>
    recorder.event(targetOf(PERSISTENT_VOLUME_CLAIMS, claim), { type, reason, message })
  if (!uncertain.has(claim.uid)) {
    record('Normal', 'Provisioning', `External provisioner is provisioning volume for claim "${key}"`)
  }
  try {
    await provision(decision, { claim, parts, signal })
  } catch (error) {
    signal.throwIfAborted()
    const why = `failed to provision volume with StorageClass "${decision.storageClass.key}": ${messageOf(error)}`
    record('Warning', 'ProvisioningFailed', why)
    if (decision.selectedNode !== undefined && isExhausted(error)) await chooseAgain(claim, parts, signal)
    return { kind: 'retry', cause: error }
  }
  record('Normal', 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeNameOf(claim)}`)
  return SETTLED
}

/** Returns the last state of a deleted claim whose volume the driver may still create, or else the current claim. */
function claimToProvision(key: string, { caches, uncertain }: ProvisionerParts): Claim | undefined {
  const claim = caches.claims.store.get(key)
  for (const { claim: unfinished } of uncertain.values()) {
    if (unfinished.key === key && unfinished.uid !== claim?.uid) return unfinished
  }
  return claim
}

type Provision = Extract<ProvisionDecision, { do: 'provision' }>

interface ProvisionRun {
  readonly claim: Claim
  readonly parts: ProvisionerParts
  readonly signal: AbortSignal
}

async function provision({ storageClass, selectedNode }: Provision, run: ProvisionRun): Promise<void> {
  const { claim, parts, signal } = run
  const { client, caches, driver, uncertain, identity } = parts
  const parameters = classParameters(storageClass.parameters, claim, volumeNameOf(claim))
  const request = await requestFor({ storageClass, parameters, selectedNode }, run)
  const created = await createVolume(request, run)
  const volume = provisionedVolume({ claim, storageClass, parameters, driverName: driver.name, created, identity })
  const stored = await except(isAlreadyExists, client.create(PERSISTENT_VOLUMES, volume, { signal }))
  if (stored !== undefined) caches.volumes.learn(stored)
  uncertain.delete(claim.uid)
}

interface RequestInput {
  readonly storageClass: Provision['storageClass']
  readonly parameters: ClassParameters
  readonly selectedNode: string | undefined
}

async function requestFor(
  { storageClass, parameters, selectedNode }: RequestInput,
  { claim, parts, signal }: ProvisionRun,
): Promise<CreateVolumeRequest> {
  const { client, caches, driver } = parts
  const mutableParameters =
    claim.attributesClass === ''
      ? {}
      : ((await client.get(VOLUME_ATTRIBUTES_CLASSES, { name: claim.attributesClass }, { signal })).parameters ?? {})
  const { secrets } = parameters
  const request = createVolumeRequest({
    claim,
    parameters,
    mountOptions: storageClass.mountOptions,
    singleNodeMultiWriter: driver.capabilities.controller.has(ControllerRpc.SINGLE_NODE_MULTI_WRITER),
    topology:
      selectedNode === undefined
        ? allowedTopology(storageClass.allowedTopologies)
        : topologyFor(driver.name, caches.nodes.store.get(selectedNode), caches.csiNodes.store.get(selectedNode)),
    source: sourceOf(claim, parts),
    mutableParameters,
  })
  return { ...request, secrets: await loadSecret(secrets.provision, client, signal) }
}

/**
 * Returns the source of a clone. A deleted claim keeps the source of its first request, because the source claim may be
 * gone too. The Go original stops in this case.
 */
function sourceOf(claim: Claim, { caches, driver, uncertain }: ProvisionerParts): string | undefined {
  const unfinished = uncertain.get(claim.uid)
  const isGone = caches.claims.store.get(claim.key)?.uid !== claim.uid
  return unfinished !== undefined && isGone ? unfinished.source : sourceHandle(claim, caches, driver)
}

/** Creates the volume. The volume may exist until the driver reports a final error. */
async function createVolume(
  request: CreateVolumeRequest,
  { claim, parts: { driver, uncertain }, signal }: ProvisionRun,
): Promise<CsiVolume> {
  const source = request.volumeContentSource?.type
  uncertain.set(claim.uid, { claim, source: source?.$case === 'volume' ? source.value.volumeId : undefined })
  try {
    const { volume } = await driver.call(CreateVolume, request, { timeoutMs: CALL_MS, signal })
    if (volume === undefined) throw new Error('the driver answered without a volume')
    return volume
  } catch (error) {
    if (error instanceof RpcError && classify(error).final) uncertain.delete(claim.uid)
    throw error
  }
}

function isExhausted(error: unknown): boolean {
  return error instanceof RpcError && error.code === CODES.ResourceExhausted
}

/** Removes the selected node, because the driver has no capacity for it. The binder must select another node. */
async function chooseAgain(claim: Claim, { client, caches }: ControllerParts, signal: AbortSignal): Promise<void> {
  const patch = { kind: 'merge' as const, body: { metadata: { annotations: { [SELECTED_NODE]: null } } } }
  const isOutdated = (error: unknown): boolean => isNotFound(error) || isConflict(error)
  const patching = client.patch(PERSISTENT_VOLUME_CLAIMS, refOf(claim.key), patch, { signal })
  const patched = await except(isOutdated, patching)
  if (patched !== undefined) caches.claims.learn(patched)
}

async function loadSecret(
  ref: SecretRef | undefined,
  client: ControllerParts['client'],
  signal: AbortSignal,
): Promise<Record<string, string>> {
  return ref === undefined ? {} : secretsFrom((await client.get(SECRETS, ref, { signal })).data)
}

/** Deletes a released volume, first in the driver and then in the API. */
export async function reconcileReclaim(key: string, parts: ProvisionerParts, signal: AbortSignal): Promise<Outcome> {
  const { caches, driver, recorder, client } = parts
  const volume = caches.volumes.store.get(key)
  if (volume === undefined) return SETTLED
  const attachments = caches.attachments.store.byIndex(ATTACHMENTS_BY_VOLUME, key)
  const decision = decideReclaim({ volume, attachments, driverName: driver.name })
  const target = targetOf(PERSISTENT_VOLUMES, volume)
  if (decision.do === 'wait')
    recorder.event(target, { type: 'Warning', reason: 'VolumeFailedDelete', message: decision.message })
  if (decision.do !== 'delete') return SETTLED
  try {
    const secrets = await loadSecret(decision.secret, client, signal)
    await driver.call(DeleteVolume, { volumeId: decision.volumeHandle, secrets }, { timeoutMs: CALL_MS, signal })
    await removeFromApi(volume, parts, signal)
    return SETTLED
  } catch (error) {
    signal.throwIfAborted()
    recorder.event(target, { type: 'Warning', reason: 'VolumeFailedDelete', message: messageOf(error) })
    return { kind: 'retry', cause: error }
  }
}

/**
 * Deletes the PersistentVolume and removes its finalizer. Both writes may be repeated; changed finalizers fail only
 * this run.
 */
async function removeFromApi(
  { key: name, deleting }: Volume,
  { client, caches }: ProvisionerParts,
  signal: AbortSignal,
): Promise<void> {
  try {
    if (!deleting) await client.delete(PERSISTENT_VOLUMES, { name }, { signal })
    const { metadata } = await client.get(PERSISTENT_VOLUMES, { name }, { signal })
    const patch = removeFinalizerPatch(metadata?.finalizers, PROVISIONER_FINALIZER)
    if (patch !== undefined) caches.volumes.learn(await client.patch(PERSISTENT_VOLUMES, { name }, patch, { signal }))
  } catch (error) {
    // The PersistentVolume disappeared with its last finalizer.
    if (!isNotFound(error)) throw error
  }
}
