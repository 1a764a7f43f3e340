import { type ApiObject, at, type Json, listAt, objectAt, textAt } from '../schema/json.ts'
import { AGE, BOOLEAN, type Cell, type Columns, CREATED, column, flag, INTEGER, NAME, text, WIDE } from './cells.ts'

const CLASSES = [
  column('StorageClass', text('spec.storageClassName')),
  column('VolumeAttributesClass', text('spec.volumeAttributesClassName', '<unset>')),
]
const VOLUME_MODE = column('VolumeMode', text('spec.volumeMode', '<unset>'), WIDE)

export const VOLUME_COLUMNS: Columns = {
  PersistentVolumeClaim: [
    NAME,
    column('Status', phase),
    column('Volume', text('spec.volumeName')),
    column('Capacity', ofVolume(capacity('status'))),
    column('Access Modes', ofVolume(accessModes('status'))),
    ...CLASSES,
    AGE,
    VOLUME_MODE,
  ],
  PersistentVolume: [
    NAME,
    column('Capacity', capacity('spec')),
    column('Access Modes', accessModes('spec')),
    column('Reclaim Policy', text('spec.persistentVolumeReclaimPolicy')),
    column('Status', phase),
    column('Claim', (object) => {
      const claim = objectAt(object, 'spec', 'claimRef')
      return claim === undefined ? '' : `${textAt(claim, 'namespace') ?? ''}/${textAt(claim, 'name') ?? ''}`
    }),
    ...CLASSES,
    column('Reason', text('status.reason')),
    AGE,
    VOLUME_MODE,
  ],
  StorageClass: [
    column('Name', defaultName, { format: 'name' }),
    column('Provisioner', text('provisioner')),
    column('ReclaimPolicy', text('reclaimPolicy')),
    column('VolumeBindingMode', text('volumeBindingMode')),
    column('AllowVolumeExpansion', flag('allowVolumeExpansion')),
    AGE,
  ],
  VolumeAttributesClass: [NAME, column('DriverName', text('driverName')), AGE],
  VolumeAttachment: [
    NAME,
    column('Attacher', text('spec.attacher'), { format: 'name' }),
    column('PV', text('spec.source.persistentVolumeName')),
    column('Node', text('spec.nodeName')),
    column('Attached', flag('status.attached'), BOOLEAN),
    AGE,
  ],
  CSINode: [NAME, column('Drivers', (object) => listAt(object, 'spec', 'drivers').length, INTEGER), AGE],
  CSIDriver: [
    NAME,
    column('AttachRequired', flag('spec.attachRequired'), BOOLEAN),
    column('PodInfoOnMount', flag('spec.podInfoOnMount'), BOOLEAN),
    column('StorageCapacity', flag('spec.storageCapacity'), BOOLEAN),
    column('TokenRequests', audiences),
    column('RequiresRepublish', flag('spec.requiresRepublish'), BOOLEAN),
    column('Modes', (object) => listAt(object, 'spec', 'volumeLifecycleModes').join(',') || '<none>'),
    AGE,
  ],
  CSIStorageCapacity: [NAME, CREATED],
}

function phase(object: ApiObject): string {
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return textAt(object, 'status', 'phase') ?? ''
}

/** Prints a cell only if the claim has a volume. */
function ofVolume(cell: (object: ApiObject) => Json): Cell {
  return (object) => ((textAt(object, 'spec', 'volumeName') ?? '') === '' ? '' : cell(object))
}

function capacity(part: 'spec' | 'status'): (object: ApiObject) => Json {
  return (object) => at(object, part, 'capacity', 'storage') ?? '0'
}

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
}

function accessModes(part: 'spec' | 'status'): (object: ApiObject) => string {
  return (object) => {
    const modes = listAt(object, part, 'accessModes')
    const shortModes = Object.entries(SHORT_MODES).filter(([mode]) => modes.includes(mode))
    return shortModes.map(([, short]) => short).join(',')
  }
}

function defaultName(object: ApiObject): string {
  const marked = object.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true'
  return `${object.metadata.name ?? ''}${marked ? ' (default)' : ''}`
}

function audiences(object: ApiObject): string {
  if (at(object, 'spec', 'tokenRequests') === undefined) return '<unset>'
  const requests = listAt(object, 'spec', 'tokenRequests')
  return requests.map((request) => textAt(request, 'audience')).join(',')
}
