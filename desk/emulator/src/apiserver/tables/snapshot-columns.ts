import { at, textAt } from '../schema/json.ts'
import { ageOf } from './age.ts'
import { BOOLEAN, type Column, type Columns, column, INTEGER, NAME } from './cells.ts'

/** Returns a printer column of a CRD for the value at a path. The cell is null if the value is absent. */
function printerColumn(name: string, path: string, options: Partial<Pick<Column, 'type'>> = {}): Column {
  const steps = path.split('.')
  return column(name, (object) => at(object, ...steps) ?? null, options)
}

function dateColumn(name: string, path: string): Column {
  const steps = path.split('.')
  const cell: Column['cell'] = (object, now) =>
    at(object, ...steps) === undefined ? null : ageOf(textAt(object, ...steps), now)
  return column(name, cell, { type: 'date' })
}

const READY = printerColumn('ReadyToUse', 'status.readyToUse', BOOLEAN)
const AGE = dateColumn('Age', 'metadata.creationTimestamp')
const CLASS = [NAME, printerColumn('Driver', 'driver'), printerColumn('DeletionPolicy', 'deletionPolicy'), AGE]
const CONTENT = [printerColumn('DeletionPolicy', 'spec.deletionPolicy'), printerColumn('Driver', 'spec.driver')]

/** The printer columns of the snapshot CRDs. */
export const SNAPSHOT_COLUMNS: Columns = {
  VolumeSnapshotClass: CLASS,
  VolumeGroupSnapshotClass: CLASS,
  VolumeSnapshot: [
    NAME,
    READY,
    printerColumn('SourcePVC', 'spec.source.persistentVolumeClaimName'),
    printerColumn('SourceSnapshotContent', 'spec.source.volumeSnapshotContentName'),
    printerColumn('RestoreSize', 'status.restoreSize'),
    printerColumn('SnapshotClass', 'spec.volumeSnapshotClassName'),
    printerColumn('SnapshotContent', 'status.boundVolumeSnapshotContentName'),
    dateColumn('CreationTime', 'status.creationTime'),
    AGE,
  ],
  VolumeSnapshotContent: [
    NAME,
    READY,
    printerColumn('RestoreSize', 'status.restoreSize', INTEGER),
    ...CONTENT,
    printerColumn('VolumeSnapshotClass', 'spec.volumeSnapshotClassName'),
    printerColumn('VolumeSnapshot', 'spec.volumeSnapshotRef.name'),
    printerColumn('VolumeSnapshotNamespace', 'spec.volumeSnapshotRef.namespace'),
    AGE,
  ],
  VolumeGroupSnapshot: [
    NAME,
    READY,
    printerColumn('VolumeGroupSnapshotClass', 'spec.volumeGroupSnapshotClassName'),
    printerColumn('VolumeGroupSnapshotContent', 'status.boundVolumeGroupSnapshotContentName'),
    dateColumn('CreationTime', 'status.creationTime'),
    AGE,
  ],
  VolumeGroupSnapshotContent: [
    NAME,
    READY,
    ...CONTENT,
    printerColumn('VolumeGroupSnapshotClass', 'spec.volumeGroupSnapshotClassName'),
    printerColumn('VolumeGroupSnapshotNamespace', 'spec.volumeGroupSnapshotRef.namespace'),
    printerColumn('VolumeGroupSnapshot', 'spec.volumeGroupSnapshotRef.name'),
    AGE,
  ],
}
