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
  STORAGE_CLASSES,
  VOLUME_ATTRIBUTES_CLASSES,
  VOLUME_SNAPSHOT_CLASSES,
  VOLUME_SNAPSHOT_CONTENTS,
  VOLUME_SNAPSHOTS,
} from '@csi-sidecars/kube-types'
import { isPending } from './collect.ts'
import { sourceOf } from './collect-snapshots.ts'
import { FactCollection } from './collection.ts'
import { type ClusterFacts, claimKeysOf, claimNamesOf, keyOf, mayWait, objectOf, refOf } from './facts.ts'

/** Excludes the Leases with which nodes send heartbeats, one for each node. */
const NOT_OF_NODES = 'metadata.namespace!=kube-node-lease'
/** The maximum number of nodes to read. If many nodes are lost at once, the first nodes suffice to show the problem. */
const MAX_NODES = 100

/** Reports whether a claim has findings by itself, without facts about other objects. */
type HasFindings = (claim: PersistentVolumeClaim, nothing: ClusterFacts) => boolean

/** Reads the whole cluster. All kinds are listed in parallel, page by page. */
export async function collectAll(into: FactCollection, hasFindings: HasFindings): Promise<void> {
  const [leases, existing] = await Promise.all([
    into.reader.list(LEASES, { fieldSelector: NOT_OF_NODES }),
    podsAndClaims(into, hasFindings),
    into.attachmentsWhere(() => true),
    into.all(into.volumes, PERSISTENT_VOLUMES),
    into.all(into.csiNodes, CSI_NODES),
    into.all(into.drivers, CSI_DRIVERS),
    into.all(into.storageClasses, STORAGE_CLASSES),
    into.all(into.attributesClasses, VOLUME_ATTRIBUTES_CLASSES),
    into.all(into.snapshots, VOLUME_SNAPSHOTS),
    into.all(into.contents, VOLUME_SNAPSHOT_CONTENTS),
    into.all(into.snapshotClasses, VOLUME_SNAPSHOT_CLASSES),
    events(into),
  ])
  into.leases = leases
  if (existing !== undefined) noteMissing(sourceClaims(into), existing, into)
  await nodesOf(into)
}

/**
 * Reads the pods that use claims, the claims of waiting pods, and the other claims that have findings. Returns the keys
 * of all claims. Undefined if the API server refuses their list.
 */
async function podsAndClaims(into: FactCollection, hasFindings: HasFindings): Promise<Set<string> | undefined> {
  const { reader, claims } = into
  const uses = (pod: Pod): boolean => claimNamesOf(pod).length > 0
  for (const pod of (await reader.list(PODS, { where: uses, reduce: withoutContainers })) ?? []) into.addPod(pod)
  const awaitedKeys = new Set([...into.pods.values()].filter(mayWait).flatMap(claimKeysOf))
  const nothing = new FactCollection(reader).facts(0, 0)
  const existing = new Set<string>()
  const where = (claim: PersistentVolumeClaim): boolean => {
    const key = keyOf(refOf('', claim))
    existing.add(key)
    return awaitedKeys.has(key) || hasFindings(claim, nothing)
  }
  const listed = await reader.list(PERSISTENT_VOLUME_CLAIMS, { where, notUnderstood: (key) => existing.add(key) })
  for (const object of listed ?? []) claims.set(keyOf(refOf('', object)), { kind: 'present', object })
  if (listed === undefined) return undefined
  noteMissing(awaitedKeys, existing, into)
  return existing
}

function noteMissing(awaitedKeys: Iterable<string>, existing: ReadonlySet<string>, { claims }: FactCollection): void {
  for (const key of awaitedKeys) if (!existing.has(key)) claims.set(key, { kind: 'absent' })
}

/** Returns the keys of the claims from which a snapshot is taken or a claim is cloned. */
function sourceClaims({ claims, snapshots }: FactCollection): readonly string[] {
  const cloned = claims.present.map(sourceOf).filter((source) => source?.kind === 'PersistentVolumeClaim')
  const snapshotSources = snapshots.present.map(({ metadata, spec }) => {
    const name = spec.source.persistentVolumeClaimName
    return name === undefined ? undefined : { namespace: metadata?.namespace, name }
  })
  return [...cloned, ...snapshotSources].flatMap((ref) => (ref === undefined ? [] : keyOf(ref)))
}

/** Removes the containers of a pod to save memory, because findings do not read them. */
function withoutContainers(pod: Pod): Pod {
  return pod.spec == null ? pod : { ...pod, spec: { ...pod.spec, containers: [], initContainers: [] } }
}

const OF_CLAIMS = 'involvedObject.kind=PersistentVolumeClaim'
const OF_PODS = ['FailedAttachVolume', 'FailedMount', 'FailedMapVolume', 'FailedScheduling'].map(
  (reason) => `involvedObject.kind=Pod,reason=${reason}`,
)
const OF_VOLUMES = 'involvedObject.kind=PersistentVolume,reason=VolumeFailedDelete'
const OF_CONTENTS = 'involvedObject.kind=VolumeSnapshotContent,reason=SnapshotDeleteError'

async function events({ reader, events: collected }: FactCollection): Promise<void> {
  const lists = [OF_CLAIMS, OF_VOLUMES, OF_CONTENTS, ...OF_PODS].map((fieldSelector) =>
    reader.list(EVENTS, { fieldSelector }),
  )
  for (const event of (await Promise.all(lists)).flatMap((list) => list ?? [])) collected.push(event)
}

/** Reads the nodes of waiting pods, of their attachments, and of pending attachments without a CSINode. */
async function nodesOf(into: FactCollection): Promise<void> {
  const attachments = [...into.attachments.values()]
  const pods = [...into.pods.values()].filter(mayWait)
  const volumes = new Set(pods.flatMap(claimKeysOf).map((key) => objectOf(into.claims.get(key))?.spec?.volumeName))
  const lost = attachments
    .filter((va) => isPending(va) && into.csiNodes.get(va.spec?.nodeName ?? '').kind === 'absent')
    .concat(attachments.filter(({ spec }) => volumes.has(spec?.source.persistentVolumeName)))
  const names = new Set([...lost.map(({ spec }) => spec?.nodeName), ...pods.map(({ spec }) => spec?.nodeName)])
  await Promise.all(
    [...names]
      .filter((name) => name)
      .slice(0, MAX_NODES)
      .map((name = '') => into.node(name)),
  )
}
