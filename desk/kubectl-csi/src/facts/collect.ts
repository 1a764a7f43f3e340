import {
  EVENTS,
  LEASES,
  type Lease,
  PODS,
  type Pod,
  VOLUME_ATTACHMENTS,
  type VolumeAttachment,
} from '@csi-sidecars/kube-types'
import { collectContent, collectSnapshot, collectSource } from './collect-snapshots.ts'
import type { FactCollection } from './collection.ts'
import { claimNamesOf, driverOf, type KindRef, mayWait, objectOf, refOf } from './facts.ts'
import { leaseName } from './leases.ts'

export type SubjectKind = 'pod' | 'pvc' | 'pv' | 'va' | 'node' | 'vs' | 'vsc'

export const KINDS: Readonly<Record<SubjectKind, string>> = {
  pod: 'Pod',
  pvc: 'PersistentVolumeClaim',
  pv: 'PersistentVolume',
  va: 'VolumeAttachment',
  node: 'Node',
  vs: 'VolumeSnapshot',
  vsc: 'VolumeSnapshotContent',
}

/** Reads the object and everything that it may wait for. Resolves with false if the object does not exist. */
export async function collect(kind: SubjectKind, ref: KindRef, into: FactCollection): Promise<boolean> {
  const found = await COLLECT[kind](ref, into)
  if (!found) return false
  await Promise.all([collectEvents(into), collectLeases(into)])
  return true
}

const COLLECT: Readonly<Record<SubjectKind, (ref: KindRef, into: FactCollection) => Promise<boolean>>> = {
  async pod(ref, into) {
    const seen = await into.reader.get(PODS, ref)
    const pod = objectOf(seen)
    if (pod === undefined) return seen.kind !== 'absent'
    into.addPod(pod)
    const { nodeName } = pod.spec ?? {}
    await Promise.all([claimsOf(pod, into), nodeName ? into.nodeIfThere(nodeName) : undefined])
    await attachmentsOfVolumes(into)
    if (nodeName) await usersElsewhere(nodeName, into)
    return true
  },

  async pvc(ref, into) {
    const seen = await into.claim(ref)
    const claim = objectOf(seen)
    if (claim === undefined) return seen.kind !== 'absent'
    await Promise.all([into.surroundingsOfClaim(claim), collectSource(claim, into), podsOf(ref, into)])
    await attachmentsOfVolumes(into)
    return true
  },

  async pv({ name }, into) {
    const seen = await into.volume(name)
    const pv = objectOf(seen)
    if (pv === undefined) return seen.kind !== 'absent'
    const { name: claim, namespace } = pv.spec?.claimRef ?? {}
    if (claim !== undefined) await COLLECT.pvc({ kind: KINDS.pvc, namespace, name: claim }, into)
    await attachmentsOfVolumes(into)
    return true
  },

  async va({ name }, into) {
    const seen = await into.reader.get(VOLUME_ATTACHMENTS, { name })
    const va = objectOf(seen)
    if (va === undefined) return seen.kind !== 'absent'
    into.addAttachment(va)
    await surroundings(into)
    return true
  },

  async node({ name }, into) {
    const [node, csiNode] = await Promise.all([
      into.node(name),
      into.csiNode(name),
      into.attachmentsWhere(({ spec }) => spec?.nodeName === name),
    ])
    await surroundings(into)
    // A deleted node is explained, too, if attachments of it still exist.
    return node.kind !== 'absent' || csiNode.kind !== 'absent' || into.attachments.size > 0
  },

  vs: (ref, into) => collectSnapshot(ref, into),

  async vsc({ name }, into) {
    const found = await collectContent(name, into)
    const { namespace, name: snapshot } = objectOf(into.contents.get(name))?.spec.volumeSnapshotRef ?? {}
    if (snapshot !== undefined) await into.snapshot({ namespace, name: snapshot })
    return found
  },
}

async function claimsOf(pod: Pod, into: FactCollection): Promise<void> {
  const { namespace } = pod.metadata ?? {}
  await Promise.all(
    claimNamesOf(pod).map(async (name) => {
      const claim = objectOf(await into.claim({ namespace, name }))
      if (claim !== undefined) await Promise.all([into.surroundingsOfClaim(claim), collectSource(claim, into)])
    }),
  )
}

/** Reads the pods that use a claim. */
async function podsOf({ namespace, name }: KindRef, into: FactCollection): Promise<void> {
  const where = (pod: Pod): boolean => claimNamesOf(pod).includes(name)
  for (const pod of (await into.reader.list(PODS, { namespace, where })) ?? []) into.addPod(pod)
}

async function attachmentsOfVolumes(into: FactCollection): Promise<void> {
  const names = new Set(into.volumes.present.map(({ metadata }) => metadata?.name ?? ''))
  if (names.size > 0) await into.attachmentsWhere((va) => names.has(va.spec?.source.persistentVolumeName ?? ''))
  await surroundings(into)
}

async function surroundings(into: FactCollection): Promise<void> {
  const waiting = [...into.attachments.values()].filter(isPending)
  await Promise.all(waiting.map((va) => into.surroundingsOf(va)))
  const limited = new Set(waiting.flatMap(({ spec }) => (isLimited(spec, into) ? (spec?.nodeName ?? []) : [])))
  if (limited.size > 0) await into.neighboursOn(limited)
}

/** Reports whether the driver of an attachment has a volume limit on its node. */
function isLimited(spec: VolumeAttachment['spec'], { csiNodes }: FactCollection): boolean {
  const drivers = objectOf(csiNodes.get(spec?.nodeName ?? ''))?.spec.drivers
  return drivers?.find(({ name }) => name === spec?.attacher)?.allocatable?.count !== undefined
}

/** Reads the other nodes to which volumes of the pod are attached, and the pods that use these volumes. */
async function usersElsewhere(nodeName: string, into: FactCollection): Promise<void> {
  const others = [...into.attachments.values()].filter(({ spec }) => spec?.nodeName !== nodeName)
  const volumes = new Set(others.map(({ spec }) => spec?.source.persistentVolumeName))
  const claims = into.claims.present.filter(({ spec }) => volumes.has(spec?.volumeName))
  await Promise.all([
    ...others.map(({ spec }) => into.nodeIfThere(spec?.nodeName ?? '')),
    ...claims.map((claim) => podsOf(refOf('PersistentVolumeClaim', claim), into)),
  ])
}

/** Reports whether an attachment is not attached yet, or is being deleted. */
export function isPending({ metadata, status }: VolumeAttachment): boolean {
  return metadata?.deletionTimestamp !== undefined || status?.attached !== true
}

/** Reads the events of the collected objects. VolumeAttachments are left out: their errors are in their status. */
async function collectEvents(into: FactCollection): Promise<void> {
  const objects: KindRef[] = [
    ...[...into.pods.values()].filter(mayWait).map((pod) => refOf('Pod', pod)),
    ...into.claims.present.map((claim) => refOf('PersistentVolumeClaim', claim)),
    ...into.volumes.present
      .filter(({ status }) => status?.phase === 'Released' || status?.phase === 'Failed')
      .map((pv) => refOf('PersistentVolume', pv)),
    ...into.contents.present
      .filter(({ metadata }) => metadata?.deletionTimestamp !== undefined)
      .map((content) => refOf('VolumeSnapshotContent', content)),
  ]
  await Promise.all(
    objects.map(async ({ kind, namespace, name }) => {
      const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name}`
      into.events.push(...((await into.reader.list(EVENTS, { namespace, fieldSelector })) ?? []))
    }),
  )
}

/** Reads the Leases, in any namespace, of the sidecars that work on the collected objects. */
async function collectLeases(into: FactCollection): Promise<void> {
  const volumes = into.volumes.present.flatMap((pv) => driverOf(pv) ?? [])
  const attachers = [...into.attachments.values()].flatMap(({ spec }) => spec?.attacher ?? [])
  const names = new Set([
    ...attachers.map((driver) => leaseName('external-attacher', driver)),
    ...(into.claims.present.length > 0 ? volumes.map((driver) => leaseName('external-resizer', driver)) : []),
    ...into.contents.present.map(({ spec }) => leaseName('external-snapshotter', spec.driver)),
    ...provisioners(into).map((driver) => leaseName('external-provisioner', driver)),
  ])
  const lists = await Promise.all([...names].map((name) => leasesOf(name, into)))
  into.leases = lists.includes(undefined) ? undefined : lists.flatMap((list) => list ?? [])
}

/** Returns the provisioners of claims that have no volume. */
function provisioners({ claims, storageClasses }: FactCollection): readonly string[] {
  const waiting = claims.present.filter(({ spec }) => !spec?.volumeName)
  return waiting.flatMap(({ spec }) => objectOf(storageClasses.get(spec?.storageClassName ?? ''))?.provisioner ?? [])
}

async function leasesOf(name: string, { reader }: FactCollection): Promise<readonly Lease[] | undefined> {
  const found = await reader.list(LEASES, { fieldSelector: `metadata.name=${name}` })
  const why = 'there is none: no leader election, a Lease under another name, or no such sidecar'
  if (found?.length === 0) reader.notSeen({ what: `Lease ${name}`, why, essential: false })
  return found
}
