import { at, textAt } from '../schema/json.ts'
import { ageOf } from './age.ts'
import { BOOLEAN, type Column, type Columns, column, INTEGER, NAME } from './cells.ts'

/** Returns a printer column of a CRD for the value at a path. The cell is null if the value is absent. */
function printed(name: string, path: string, look: Partial<Pick<Column, 'type'>> = {}): Column {
  const steps = path.split('.')
  return column(name, (object) => at(object, ...steps) ?? null, look)
}

function dateOf(name: string, path: string): Column {
  const steps = path.split('.')
  const cell: Column['cell'] = (object, now) =>
    at(object, ...steps) === undefined ? null : ageOf(textAt(object, ...steps), now)
  return column(name, cell, { type: 'date' })
}

const READY = printed('ReadyToUse', 'status.readyToUse', BOOLEAN)
const AGE = dateOf('Age', 'metadata.creationTimestamp')
const CLASS = [NAME, printed('Driver', 'driver'), printed('DeletionPolicy', 'deletionPolicy'), AGE]
const CONTENT = [printed('DeletionPolicy', 'spec.deletionPolicy'), printed('Driver', 'spec.driver')]

/** The printer columns of the snapshot CRDs. */
export const SNAPSHOT_COLUMNS: Columns = {
  VolumeSnapshotClass: CLASS,
  VolumeGroupSnapshotClass: CLASS,
  VolumeSnapshot: [
    NAME,
    READY,
    printed('SourcePVC', 'spec.source.persistentVolumeClaimName'),
    printed('SourceSnapshotContent', 'spec.source.volumeSnapshotContentName'),
    printed('RestoreSize', 'status.restoreSize'),
    printed('SnapshotClass', 'spec.volumeSnapshotClassName'),
    printed('SnapshotContent', 'status.boundVolumeSnapshotContentName'),
    dateOf('CreationTime', 'status.creationTime'),
    AGE,
  ],
  VolumeSnapshotContent: [
    NAME,
    READY,
    printed('RestoreSize', 'status.restoreSize', INTEGER),
    ...CONTENT,
    printed('VolumeSnapshotClass', 'spec.volumeSnapshotClassName'),
    printed('VolumeSnapshot', 'spec.volumeSnapshotRef.name'),
    printed('VolumeSnapshotNamespace', 'spec.volumeSnapshotRef.namespace'),
    AGE,
  ],
  VolumeGroupSnapshot: [
    NAME,
    READY,
    printed('VolumeGroupSnapshotClass', 'spec.volumeGroupSnapshotClassName'),
    printed('VolumeGroupSnapshotContent', 'status.boundVolumeGroupSnapshotContentName'),
    dateOf('CreationTime', 'status.creationTime'),
    AGE,
  ],
  VolumeGroupSnapshotContent: [
    NAME,
    READY,
    ...CONTENT,
    printed('VolumeGroupSnapshotClass', 'spec.volumeGroupSnapshotClassName'),
    printed('VolumeGroupSnapshotNamespace', 'spec.volumeGroupSnapshotRef.namespace'),
    printed('VolumeGroupSnapshot', 'spec.volumeGroupSnapshotRef.name'),
    AGE,
  ],
}
