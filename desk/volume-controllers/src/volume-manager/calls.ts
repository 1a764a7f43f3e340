import { messageOf } from '@csi-sidecars/base'
import type { Driver } from '@csi-sidecars/csi'
import { classify, RpcError, secretsFrom } from '@csi-sidecars/csi'
import {
  NodePublishVolume,
  NodeServiceCapability_RPC_Type as NodeRpc,
  NodeStageVolume,
  NodeUnpublishVolume,
  NodeUnstageVolume,
} from '@csi-sidecars/csi-proto'
import { SECRETS } from '@csi-sidecars/kube-types'
import type { StatusList } from '../attach-detach/node-status.ts'
import type { ControllerParts } from '../control.ts'
import { CALL_MS, nodeCan } from '../driver/driver.ts'
import type { ActualState, MountPoint, MountState } from './actual-state.ts'
import type { DesiredState } from './desired-state.ts'
import { type CsiSource, type DriverSource, isOfDriver, type MountSource, type PodMount } from './desired-state.ts'
import type { Disk } from './disk.ts'
import { type GroupsBy, groupsBy } from './ownership.ts'
import type { Paths } from './paths.ts'
import { type CallParts, ephemeralRequest, publishRequest, stageRequest } from './requests.ts'

/** The desired and the actual state of one node, and the dependencies of its volume manager. */
export interface NodeParts extends ControllerParts {
  readonly node: string
  readonly driver: Driver
  readonly desired: DesiredState
  readonly actual: ActualState
  readonly disk: Disk
  readonly paths: Paths
  readonly inUse: StatusList
}

/** Stages a volume for all pods of the node. */
export async function stage(source: CsiSource, deps: NodeParts, signal: AbortSignal): Promise<void> {
  // The first pod decides which Unix group gets the volume, as in kubelet.
  const [pod] = deps.desired.get(source.volumeName)?.pods.values() ?? []
  const call = callParts(source, pod, deps)
  const secrets = await secretOf(source.csi.nodeStageSecretRef, deps, signal)
  const request = { ...stageRequest(source, call), secrets }
  const limits = { timeoutMs: CALL_MS, signal }
  const point = { source, path: call.stagingTargetPath }
  await mounting(point, deps, () => deps.driver.call(NodeStageVolume, request, limits))
}

/** A volume and a pod that uses it. */
interface PodVolume<S extends MountSource> {
  readonly source: S
  readonly pod: PodMount
}

/** Publishes a volume to one pod. */
export async function publish(
  { source, pod }: PodVolume<MountSource>,
  deps: NodeParts,
  signal: AbortSignal,
): Promise<void> {
  const { podUid } = pod
  const call = await publishCall({ source, pod }, deps, signal)
  await mounting({ source, path: targetOf(source, podUid, deps), podUid }, deps, call)
}

/** Runs a call that mounts a volume. Records the mount as uncertain before the call, and the result after it. */
async function mounting(point: MountPoint, { actual, disk }: NodeParts, call: () => Promise<unknown>): Promise<void> {
  const before = actual.stateOf(point)
  disk.begin(point)
  actual.record(point, 'uncertain')
  try {
    await call()
  } catch (error) {
    if (isOver(error, before)) {
      actual.record(point, undefined)
      disk.end(point)
    }
    throw error
  }
  actual.record(point, 'mounted')
}

/** Reports whether nothing is mounted after a failed call: there was no earlier mount, and the error is final. */
function isOver(error: unknown, before: MountState | undefined): boolean {
  if (before !== undefined || error instanceof GroupError) return false
  return !(error instanceof RpcError) || classify(error).final
}

/** The error for a mounted volume whose files could not be given to the Unix group of the pod. */
class GroupError extends Error {
  override readonly name = 'GroupError'
}

/** Prepares the publish call of a volume, and returns a function that sends it. A failed preparation mounts nothing. */
async function publishCall(
  { source, pod }: PodVolume<MountSource>,
  deps: NodeParts,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  if (source.kind === 'local') return async () => undefined
  return await driverCall({ source, pod }, deps, signal)
}

async function driverCall(
  { source, pod }: PodVolume<DriverSource>,
  deps: NodeParts,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const { disk, driver } = deps
  const call = callParts(source, pod, deps)
  const ref =
    source.kind === 'csi'
      ? source.csi.nodePublishSecretRef
      : { ...source.source.nodePublishSecretRef, namespace: pod.namespace }
  const secrets = await secretOf(ref, deps, signal)
  const request = source.kind === 'csi' ? publishRequest(source, pod, call) : ephemeralRequest(source, pod, call)
  const { fsGroup } = pod
  return async () => {
    await driver.call(NodePublishVolume, { ...request, secrets }, { timeoutMs: CALL_MS, signal })
    if (fsGroup === undefined || groupsByOf(source, pod, deps) !== 'node') return
    try {
      disk.give(call.targetPath, fsGroup)
    } catch (error) {
      throw new GroupError(`applyFSGroup failed for vol ${handleOf(source)}: ${messageOf(error)}`, { cause: error })
    }
  }
}

function groupsByOf(source: DriverSource, pod: PodMount, { driver, caches }: NodeParts): GroupsBy {
  return groupsBy({
    source,
    pod,
    policy: caches.drivers.store.get(driver.name)?.fsGroupPolicy ?? 'ReadWriteOnceWithFSType',
    driverMayDo: nodeCan(driver, NodeRpc.VOLUME_MOUNT_GROUP),
  })
}

/** Unstages a volume, or unpublishes it from a pod. */
export async function unmount(
  point: MountPoint,
  { actual, disk, driver }: NodeParts,
  signal: AbortSignal,
): Promise<void> {
  const { source, path, podUid } = point
  actual.record(point, 'uncertain')
  if (isOfDriver(source)) {
    const volumeId = handleOf(source)
    const limits = { timeoutMs: CALL_MS, signal }
    if (podUid === undefined) await driver.call(NodeUnstageVolume, { volumeId, stagingTargetPath: path }, limits)
    else await driver.call(NodeUnpublishVolume, { volumeId, targetPath: path }, limits)
  }
  actual.record(point, undefined)
  disk.end(point)
}

function handleOf(source: DriverSource): string {
  return source.kind === 'csi' ? source.csi.volumeHandle : source.handle
}

export function canStage({ driver }: Pick<NodeParts, 'driver'>): boolean {
  return nodeCan(driver, NodeRpc.STAGE_UNSTAGE_VOLUME)
}

/** Returns the request fields that the volume source does not contain. Throws if the node does not have the driver. */
export function callParts(source: DriverSource, pod: PodMount | undefined, deps: NodeParts): CallParts {
  const { driver, caches, actual } = deps
  const name = source.kind === 'csi' ? source.csi.driver : source.source.driver
  if (name !== driver.name) throw new Error(`driver name ${name} not found in the list of registered CSI drivers`)
  return {
    publishContext: actual.get(source.volumeName)?.publishContext ?? {},
    stagingTargetPath: source.kind === 'csi' && canStage(deps) ? stagingOf(source, deps) : '',
    targetPath: targetOf(source, pod?.podUid ?? '', deps),
    singleNodeMultiWriter: nodeCan(driver, NodeRpc.SINGLE_NODE_MULTI_WRITER),
    podInfo: caches.drivers.store.get(name)?.podInfoOnMount === true,
    mountGroup: pod !== undefined && groupsByOf(source, pod, deps) === 'driver' ? String(pod.fsGroup?.gid ?? '') : '',
  }
}

function stagingOf({ csi, name, block }: CsiSource, { paths }: NodeParts): string {
  return paths.staging({ ...csi, name, block })
}

function targetOf(source: MountSource, podUid: string, { paths }: NodeParts): string {
  if (source.kind === 'local') return paths.local(source.plugin, source.name, podUid)
  return paths.target({ name: source.name, block: source.kind === 'csi' && source.block }, podUid)
}

interface SecretRef {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
}

export async function secretOf(
  ref: SecretRef | undefined,
  { client }: NodeParts,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  if (ref?.name === undefined) return {}
  const secret = await client.get(SECRETS, { name: ref.name, namespace: ref.namespace }, { signal })
  return secretsFrom(secret.data)
}
