import type { PersistentVolumeClaim, VolumeSnapshot, VolumeSnapshotContent } from '@csi-sidecars/kube-types'
import type { FactCollection } from './collection.ts'
import { type KindRef, keyOf, objectOf, refOf } from './facts.ts'

/** The snapshot or the claim from which the volume of a claim is created. */
export interface SnapshotSource extends KindRef {
  readonly kind: 'VolumeSnapshot' | 'PersistentVolumeClaim'
}

/** Returns the data source of a claim. Undefined if it has no source, or a source of another kind. */
export function sourceOf({ metadata, spec }: PersistentVolumeClaim): SnapshotSource | undefined {
  const { kind, name = '', namespace } = { ...spec?.dataSource, ...spec?.dataSourceRef }
  if (kind !== 'VolumeSnapshot' && kind !== 'PersistentVolumeClaim') return undefined
  return { kind, namespace: namespace ?? metadata?.namespace, name }
}

/** Reads the data source of a claim without a volume, and the objects that the source waits for. */
export async function collectSource(claim: PersistentVolumeClaim, into: FactCollection): Promise<void> {
  const source = sourceOf(claim)
  if (source === undefined || claim.spec?.volumeName) return
  if (source.kind === 'VolumeSnapshot') await collectSnapshot(source, into)
  else await into.claim(source)
}

/** Reads a VolumeSnapshot and everything that it waits for. Resolves with false if it does not exist. */
export async function collectSnapshot(ref: KindRef, into: FactCollection): Promise<boolean> {
  const seen = await into.snapshot(ref)
  const snapshot = objectOf(seen)
  if (snapshot !== undefined) await surroundingsOfSnapshot(snapshot, into)
  return seen.kind !== 'absent'
}

/** Reports whether a claim that is not bound gets its volume from the snapshot. */
export function isRestoredFrom(snapshot: KindRef, claim: PersistentVolumeClaim): boolean {
  const source = sourceOf(claim)
  return claim.status?.phase !== 'Bound' && source?.kind === 'VolumeSnapshot' && keyOf(source) === keyOf(snapshot)
}

async function surroundingsOfSnapshot(snapshot: VolumeSnapshot, into: FactCollection): Promise<void> {
  const { metadata, spec, status } = snapshot
  const isRestored = (each: PersistentVolumeClaim): boolean => isRestoredFrom(refOf('VolumeSnapshot', snapshot), each)
  const { persistentVolumeClaimName: claim, volumeSnapshotContentName } = spec.source
  const content = status?.boundVolumeSnapshotContentName ?? volumeSnapshotContentName
  await Promise.all([
    claim === undefined ? undefined : into.claim({ namespace: metadata?.namespace, name: claim }),
    content === undefined ? undefined : collectContent(content, into),
    into.snapshotClass(spec.volumeSnapshotClassName),
    // A deleted snapshot may wait for claims that are restored from it.
    metadata?.deletionTimestamp === undefined ? undefined : into.claimsWhere(metadata.namespace, isRestored),
  ])
}

/** Reads a VolumeSnapshotContent and its class. Resolves with false if it does not exist. */
export async function collectContent(name: string, into: FactCollection): Promise<boolean> {
  const seen = await into.content(name)
  const content: VolumeSnapshotContent | undefined = objectOf(seen)
  const className = content?.spec.volumeSnapshotClassName
  if (className !== undefined) await into.snapshotClass(className)
  return seen.kind !== 'absent'
}
