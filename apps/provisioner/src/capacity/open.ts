import { messageOf } from '@csi-sidecars/base'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { CSI_STORAGE_CAPACITIES } from '@csi-sidecars/kube-types'
import { type AppParts, cacheOf, FATAL, StartError } from '@csi-sidecars/sidecar'
import { goQuote } from '@csi-sidecars/telemetry'
import type { Names } from '../caches/names.ts'
import type { ProvisionerCaches } from '../caches/open.ts'
import { CapacityItems, OBJECTS_BY_ITEM, type SegmentSource } from './items.ts'
import { type CapacitySettings, capacityProjection, DRIVER_LABEL, MANAGER_LABEL, type Owner } from './object.ts'
import type { CapacityParts } from './run.ts'

export interface OpenCapacity
  extends Pick<AppParts, 'env' | 'caches' | 'client' | 'metrics' | 'clock' | 'log' | 'signal'> {
  readonly values: {
    readonly 'capacity-for-immediate-binding': boolean
    readonly 'capacity-ownerref-level': number
    readonly 'capacity-poll-interval': number
    readonly 'capacity-threads': number
    readonly 'kube-api-capacity-burst': number
    readonly 'kube-api-capacity-qps': number
  }
  readonly explicitFlags: ReadonlySet<string>
  readonly names: Names
  /** The node of this process with `--node-deployment`. Undefined otherwise. */
  readonly node: string | undefined
  readonly segments: SegmentSource
  readonly classes: ProvisionerCaches['classes']
}

/** Looks up the owner of CSIStorageCapacity objects, and opens their cache and metrics. Throws StartError. */
export async function openCapacity(options: OpenCapacity): Promise<CapacityParts> {
  const { names, segments, classes, caches, metrics, clock } = options
  const settings = await settingsOf(options)
  // RBAC roles allow CSIStorageCapacity objects in one namespace only, so other sidecars cannot share this watch.
  const objects = caches.create({
    resource: CSI_STORAGE_CAPACITIES,
    namespace: settings.namespace,
    labelSelector: `${DRIVER_LABEL}=${settings.driverName},${MANAGER_LABEL}=${settings.managedBy}`,
    project: capacityProjection(settings),
    indexes: { [OBJECTS_BY_ITEM]: ({ item }) => [item] },
    resyncMs: 0,
  })
  caches.add(cacheOf('CSIStorageCapacities', objects, clock))
  const items = new CapacityItems({ classes, segments, objects, names, immediate: settings.immediate })
  items.register(metrics)
  return { settings, items, objects, segments }
}

async function settingsOf(options: OpenCapacity): Promise<CapacitySettings> {
  const { values, explicitFlags, env, names, node } = options
  const namespace = env['NAMESPACE'] ?? ''
  if (namespace === '') throw needs('need NAMESPACE env variable for CSIStorageCapacity objects')
  const isLimited = explicitFlags.has('kube-api-capacity-qps') || explicitFlags.has('kube-api-capacity-burst')
  return {
    driverName: names.driver,
    managedBy: managerName(node),
    owner: await ownerOf(options, namespace),
    namespace,
    threads: values['capacity-threads'],
    pollMs: values['capacity-poll-interval'],
    immediate: values['capacity-for-immediate-binding'],
    limits: isLimited ? { qps: values['kube-api-capacity-qps'], burst: values['kube-api-capacity-burst'] } : undefined,
  }
}

async function ownerOf(
  { values, env, client, log, signal }: OpenCapacity,
  namespace: string,
): Promise<Owner | undefined> {
  const level = values['capacity-ownerref-level']
  if (level < 0) return undefined
  const podName = env['POD_NAME'] ?? ''
  if (podName === '') throw needs('need POD_NAME env variable to determine CSIStorageCapacity owner')
  const owner = await lookUpOwner(client, { namespace, podName, level }, signal)
  log.info(`using ${owner.apiVersion}/${owner.kind} ${owner.name} as owner of CSIStorageCapacity objects`)
  return owner
}

function needs(message: string): StartError {
  return new StartError(message, { exitCode: FATAL })
}

const MANAGER = 'external-provisioner'
const MAX_LABEL_LENGTH = 63

/** Returns the `managed-by` label, with the node's name for `--node-deployment`. A hash shortens long labels. */
export function managerName(node: string | undefined): string {
  if (node === undefined) return MANAGER
  const name = `${MANAGER}-${node}`
  if (name.length <= MAX_LABEL_LENGTH) return name
  const left = MAX_LABEL_LENGTH - HASH_LENGTH - 2 - node.length
  return left > 0 ? `${MANAGER.slice(0, left)}-${hashText(MANAGER)}-${node}` : `${MANAGER}-${hashText(name)}`
}

const HASH_LENGTH = 8

/** Returns the 32-bit FNV-1a hash in eight hexadecimal digits. */
function hashText(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(HASH_LENGTH, '0')
}

interface Start {
  readonly namespace: string
  readonly podName: string
  /** The number of controller references between the pod and the owner. 0: the pod itself is the owner. */
  readonly level: number
}

interface Owned {
  readonly metadata?: {
    readonly uid?: string
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[]
  }
}

/** Finds the owner of CSIStorageCapacity objects by the controller references of this pod. Throws StartError. */
async function lookUpOwner(client: KubeClient, start: Start, signal: AbortSignal): Promise<Owner> {
  const { namespace, podName, level } = start
  let current: Omit<Owner, 'uid'> = { apiVersion: 'v1', kind: 'Pod', name: podName }
  for (let left = level; ; left -= 1) {
    const { uid = '', ownerReferences = [] } = await read(client, pathOf(current, namespace), signal)
    if (left === 0) return { ...current, uid }
    const owner = ownerReferences.find(({ controller }) => controller === true)
    if (owner === undefined) {
      const { apiVersion, kind, name } = current
      const what = `${apiVersion}/${kind} ${goQuote(name)} in namespace ${goQuote(namespace)}`
      throw failed(`${what} has no controlling owner, cannot unwind the ownership further`)
    }
    const { apiVersion, kind, name } = owner
    // The reference contains all data of the last owner, so no permission to read this owner is needed.
    if (left === 1) return { apiVersion, kind, name, uid: owner.uid }
    current = { apiVersion, kind, name }
  }
}

async function read(client: KubeClient, path: string, signal: AbortSignal): Promise<NonNullable<Owned['metadata']>> {
  try {
    return ((await client.discover(path, { signal })) as Owned).metadata ?? {}
  } catch (cause) {
    signal.throwIfAborted()
    throw failed(`get object: ${messageOf(cause)}`, cause)
  }
}

/** Returns the API path of an object. Appends `s` to the kind, because all kinds of pod owners have regular plurals. */
function pathOf({ apiVersion, kind, name }: Omit<Owner, 'uid'>, namespace: string): string {
  const api = apiVersion.includes('/') ? 'apis' : 'api'
  return `/${api}/${apiVersion}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`
}

function failed(why: string, cause?: unknown): StartError {
  return new StartError(`look up owner(s) of pod: ${why}`, { cause, exitCode: FATAL })
}
