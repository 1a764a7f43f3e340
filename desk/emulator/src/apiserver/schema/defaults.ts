import { isList, isObject, type Json, type JsonMap } from './json.ts'
import { innerSchema, type Schema, type SchemaField, type SchemaFieldType } from './schema.ts'

const FILES: JsonMap = { defaultMode: 0o644 }

/** The values of fields that the writer does not set, by the names of types. */
const DEFAULTS: Readonly<Record<string, JsonMap>> = {
  AzureDiskVolumeSource: { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
  ConfigMapVolumeSource: FILES,
  Container: { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
  ContainerPort: { protocol: 'TCP' },
  CSIDriverSpec: {
    attachRequired: true,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    podInfoOnMount: false,
    requiresRepublish: false,
    seLinuxMount: false,
    storageCapacity: false,
  },
  DownwardAPIVolumeSource: FILES,
  GRPCAction: { service: '' },
  HTTPGetAction: { path: '/', scheme: 'HTTP' },
  HostPathVolumeSource: { type: '' },
  ISCSIPersistentVolumeSource: { iscsiInterface: 'default' },
  ObjectFieldSelector: { apiVersion: 'v1' },
  PersistentVolumeClaimSpec: { volumeMode: 'Filesystem' },
  PersistentVolumeClaimStatus: { phase: 'Pending' },
  PodSpec: {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
  Probe: { failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1 },
  ProjectedVolumeSource: FILES,
  RBDPersistentVolumeSource: { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' },
  ScaleIOPersistentVolumeSource: { fsType: 'xfs', storageMode: 'ThinProvisioned' },
  Secret: { type: 'Opaque' },
  SecretVolumeSource: FILES,
  ServiceAccountTokenProjection: { expirationSeconds: 3600 },
  StorageClass: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
}

/** Returns an object with the default values of its type and of all types inside it. */
export function withDefaults<T extends JsonMap>(schema: Schema, object: T): T {
  const defaultsOfType = Object.entries(DEFAULTS[schema.name] ?? {}).map(
    ([name, value]) => [name, object[name] ?? value] as const,
  )
  const completed: T = { ...object, ...Object.fromEntries(defaultsOfType) }
  const inner = innerOf(schema).flatMap(({ name, type, pointer }): [string, Json][] => {
    // Fields that are not pointers in Go are always present.
    const value = completed[name] ?? (type.kind === 'object' && !pointer ? {} : undefined)
    return value === undefined ? [] : [[name, filled(type, value)]]
  })
  return { ...completed, ...Object.fromEntries(inner) }
}

function filled(type: SchemaFieldType, value: Json): Json {
  if (type.kind === 'object' && isObject(value)) return withDefaults(type.schema, value)
  return type.kind === 'list' && isList(value) ? value.map((item) => filled(type.of, item)) : value
}

const INNER = new WeakMap<Schema, readonly SchemaField[]>()

/** Returns the fields of a type that contain objects with defaults, at any depth. */
function innerOf(schema: Schema): readonly SchemaField[] {
  const remembered = INNER.get(schema)
  if (remembered !== undefined) return remembered
  const fields = schema.fields.filter(({ type }) => {
    const inner = innerSchema(type)
    return inner !== undefined && (inner.name in DEFAULTS || innerOf(inner).length > 0)
  })
  INNER.set(schema, fields)
  return fields
}
