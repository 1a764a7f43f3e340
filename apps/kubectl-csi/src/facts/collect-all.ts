import {
  CSI_DRIVERS,
  CSI_NODES,
  EVENTS,
  LEASES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  type Resource,
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import { claimFindings } from '../findings/claim.ts'
import { claimsOf, isPending } from './collect.ts'
import { Collection } from './collection.ts'
import { claimNamesOf, type Facts, type KnownObjects, keyOf } from './facts.ts'
import type { Reader } from './reader.ts'

/** Heartbeats of nodes, one for each of them. */
const NOT_OF_NODES = 'metadata.namespace!=kube-node-lease'
/** Many pods and nodes wait for the same reason at a time; the first ones show it. */
const MOST_PODS = 50
const MOST_NAMESPACES = 50

/** Reads a whole cluster in lists side by side, page by page. */
export async function collectAll(into: Collection): Promise<void> {
  const { reader } = into
  const [leases, pods] = await Promise.all([
    reader.list(LEASES, { fieldSelector: NOT_OF_NODES }),
    pendingPods(into),
    into.attachmentsWhere(() => true),
    all(reader, PERSISTENT_VOLUMES, into.volumes),
    all(reader, CSI_NODES, into.csiNodes),
    all(reader, CSI_DRIVERS, into.drivers),
    all(reader, STORAGE_CLASSES, into.storageClasses),
    all(reader, VOLUME_ATTRIBUTES_CLASSES, into.attributesClasses),
    pendingClaims(into),
    events(into),
  ])
  into.leases = leases
  await usersOfClaims(into, pods)
  await lostNodes(into)
}

interface Named {
  readonly metadata?: { readonly name?: string | undefined } | undefined
}

async function all<T extends Named>(reader: Reader, resource: Resource<T>, known: KnownObjects<T>): Promise<void> {
  const listed = await reader.list(resource)
  for (const object of listed ?? []) known.set(object.metadata?.name ?? '', { is: 'present', object })
  known.complete = listed !== undefined
}

/** Claims that would have findings whatever else is known. */
async function pendingClaims({ reader, claims }: Collection): Promise<void> {
  const nothing = new Collection(reader).facts(0, 0)
  const where = (claim: PersistentVolumeClaim): boolean => hasFindings(claim, nothing)
  for (const object of (await reader.list(PERSISTENT_VOLUME_CLAIMS, { where })) ?? []) {
    const { namespace, name = '' } = object.metadata ?? {}
    claims.set(keyOf({ namespace, name }), { is: 'present', object })
  }
}

/** One that is not understood is kept, and reported later. */
function hasFindings(claim: PersistentVolumeClaim, nothing: Facts): boolean {
  try {
    return claimFindings(claim, nothing).length > 0
  } catch {
    return true
  }
}

const OF_CLAIMS = 'involvedObject.kind=PersistentVolumeClaim'
const OF_PODS = ['FailedAttachVolume', 'FailedMount', 'FailedMapVolume', 'FailedScheduling'].map(
  (reason) => `involvedObject.kind=Pod,reason=${reason}`,
)
const OF_VOLUMES = 'involvedObject.kind=PersistentVolume,reason=VolumeFailedDelete'

async function events({ reader, events: known }: Collection): Promise<void> {
  const lists = [OF_CLAIMS, OF_VOLUMES, ...OF_PODS].map((fieldSelector) => reader.list(EVENTS, { fieldSelector }))
  for (const event of (await Promise.all(lists)).flatMap((list) => list ?? [])) known.push(event)
}

/** The pods that do not run yet, with their claims: what they wait for is in no other object. */
async function pendingPods(into: Collection): Promise<readonly Pod[]> {
  const where = (pod: Pod): boolean => claimNamesOf(pod).length > 0
  const pods = await into.reader.list(PODS, { fieldSelector: 'status.phase=Pending', where })
  for (const pod of pods ?? []) into.addPod(pod)
  return pods ?? []
}

/** The claims of those pods, and the pods of those claims that wait for pods: of a namespace each in one list. */
async function usersOfClaims(into: Collection, pods: readonly Pod[]): Promise<void> {
  await Promise.all(pods.slice(0, MOST_PODS).map((pod) => claimsOf(pod, into)))
  const waiting = into.claims.present.filter(({ metadata, status }) => metadata?.deletionTimestamp || needsPod(status))
  const wanted = new Set(
    waiting.map(({ metadata }) => keyOf({ namespace: metadata?.namespace, name: metadata?.name ?? '' })),
  )
  const namespaces = [...new Set(waiting.flatMap(({ metadata }) => metadata?.namespace ?? []))].slice(
    0,
    MOST_NAMESPACES,
  )
  await Promise.all(
    namespaces.map(async (namespace) => {
      const where = (pod: Pod): boolean => claimNamesOf(pod).some((name) => wanted.has(keyOf({ namespace, name })))
      for (const pod of (await into.reader.list(PODS, { namespace, where })) ?? []) into.addPod(pod)
    }),
  )
}

/** The kubelet's part of an expansion. */
function needsPod(status: PersistentVolumeClaim['status']): boolean {
  const word = status?.allocatedResourceStatuses?.['storage']
  return (
    word?.startsWith('Node') === true ||
    status?.conditions?.some(({ type }) => type === 'FileSystemResizePending') === true
  )
}

/** The nodes of attachments that are pending, where the CSINode is gone too. */
async function lostNodes(into: Collection): Promise<void> {
  const names = [...into.attachments.values()].filter(isPending).flatMap(({ spec }) => spec?.nodeName ?? [])
  const lost = [...new Set(names)].filter((name) => into.csiNodes.get(name).is === 'absent').slice(0, MOST_PODS)
  await Promise.all(
    [...lost, ...[...into.pods.values()].flatMap(({ spec }) => spec?.nodeName || []).slice(0, MOST_PODS)].map((name) =>
      into.node(name),
    ),
  )
}
