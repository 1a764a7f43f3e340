import {
  CSI_NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { attachment, claim, csiNode, referenceTo, storageClass, volume } from '../../e2e/harness/api/objects.ts'
import { makeCopies, mustHold, type Original } from './copies.ts'
import type { BenchServer } from './ground.ts'

/** A series of objects with the names `<prefix>-0` to `<prefix>-<count - 1>`. */
export interface Many {
  readonly count: number
  readonly prefix: string
}

const NODE_ID = 'csi.alpha.kubernetes.io/node-id'

/** Returns the finalizer that the attacher sets for this driver. */
export function finalizerOf(driver: string): string {
  return `external-attacher/${driver.replace(/[^A-Za-z0-9-]/gu, '-')}`
}

/** Returns the name of a node that only this driver uses, so that benchmarks and rounds do not share nodes. */
export function nodeOf(driver: string, index = 0): string {
  return `${driver}-${index}`
}

export function nodes(ground: BenchServer, driver: string, count = 1): Promise<void> {
  return ground.each(count, (index) => {
    const name = nodeOf(driver, index)
    return ground.api.create(CSI_NODES, csiNode(name, { [driver]: `${name}-id` }))
  })
}

/** Creates unused PersistentVolumes with the names `<prefix>-<number>`. */
export function volumes(ground: BenchServer, driver: string, { count, prefix }: Many): Promise<void> {
  return ground.each(count, (index) => ground.api.create(PERSISTENT_VOLUMES, volume(`${prefix}-${index}`, driver)))
}

/** Copies the existing PersistentVolume `<prefix>-0` until `count` volumes exist. Writes to etcd directly. */
export async function moreVolumes(ground: BenchServer, { count, prefix }: Many): Promise<void> {
  await copiesOfFirst(ground, { count, prefix }, [{ resource: PERSISTENT_VOLUMES, name: `${prefix}-0` }])
}

/** Copies the bound claim `<prefix>-0` and its volume until there are `count` pairs. Writes to etcd directly. */
export async function moreBound(ground: BenchServer, { count, prefix }: Many): Promise<void> {
  const name = `${prefix}-0`
  const originals = [
    { resource: PERSISTENT_VOLUMES, name },
    { resource: PERSISTENT_VOLUME_CLAIMS, name, namespace: 'default' },
  ]
  await copiesOfFirst(ground, { count, prefix }, originals)
}

/** Copies objects whose names contain `<prefix>-0`, until there are `count` of each kind. */
export async function copiesOfFirst(
  ground: BenchServer,
  { count, prefix }: Many,
  originals: readonly Original[],
): Promise<void> {
  const rename = (text: string, number: number): string => text.replaceAll(`${prefix}-0`, `${prefix}-${number}`)
  await makeCopies(ground, { originals, count: count - 1, from: 1, rename })
  for (const { resource } of originals) await mustHold(ground, resource, { count, atLeast: true })
}

/** Creates the VolumeAttachment `name` for the PersistentVolume of the same name. */
export async function attach(ground: BenchServer, driver: string, { name, node }: { name: string; node: string }) {
  await ground.api.create(VOLUME_ATTACHMENTS, attachment(name, driver, { pv: name, node }))
}

/** Creates a VolumeAttachment that is already attached, for the PersistentVolume of the same name. */
export async function attached(ground: BenchServer, driver: string, { name, node }: { name: string; node: string }) {
  const metadata = { finalizers: [finalizerOf(driver)], annotations: { [NODE_ID]: `${node}-id` } }
  await ground.api.create(VOLUME_ATTACHMENTS, attachment(name, driver, { pv: name, node, metadata }))
  const status = { attached: true, attachmentMetadata: { devicePath: '/dev/disk/by-id/x' } }
  await ground.api.merge(VOLUME_ATTACHMENTS, { name, subresource: 'status' }, { status })
}

export function classOf(driver: string): string {
  return `class-${driver.replaceAll('.', '-')}`
}

/** Creates a StorageClass that allows expansion. */
export async function growing(ground: BenchServer, driver: string): Promise<void> {
  await ground.api.create(STORAGE_CLASSES, storageClass(classOf(driver), driver))
}

/** Creates a claim of 1 GiB that is bound to a PersistentVolume of the same name. */
export async function createBoundClaim(
  ground: BenchServer,
  driver: string,
  { name, pv = {} }: { name: string; pv?: object },
) {
  const { api } = ground
  const storageClassName = classOf(driver)
  const made = await api.create(
    PERSISTENT_VOLUME_CLAIMS,
    claim('default', name, { storageClassName, volumeName: name }),
  )
  await api.create(PERSISTENT_VOLUMES, volume(name, driver, { storageClassName, claimRef: referenceTo(made), ...pv }))
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } }
  await api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name, subresource: 'status' }, { status })
}

/** Raises the requested size of a claim to 2 GiB. */
export async function raise(ground: BenchServer, name: string): Promise<void> {
  const body = { spec: { resources: { requests: { storage: '2Gi' } } } }
  await ground.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name }, body)
}
