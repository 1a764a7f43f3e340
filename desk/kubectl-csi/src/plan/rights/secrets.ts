import type { StorageClass, VolumeSnapshotClass } from '@csi-sidecars/kube-types'
import type { SidecarName } from '../sidecars.ts'
import { type GrantedRule, isGranted } from './granted.ts'

/** The Secrets that classes name for the calls of the sidecars, by namespace. */
export interface NamedSecrets {
  readonly byNamespace: ReadonlyMap<string, readonly string[]>
  /** The classes whose Secrets have names that depend on the claim, so that no rule can name them. */
  readonly templated: readonly string[]
}

const PREFIX = 'csi.storage.k8s.io/'

/** The parameters that name a Secret, without the ends `secret-name` and `secret-namespace`. */
interface SecretKey {
  readonly key: string
  /** The deprecated form, such as `csiProvisioner` of `csiProvisionerSecretName`. */
  readonly old?: string
}

const MODIFY = { key: 'controller-modify-' }

/** The Secrets in a StorageClass for calls of each sidecar. */
const STORAGE_CLASS_KEYS: Readonly<Partial<Record<SidecarName, readonly SecretKey[]>>> = {
  attacher: [{ key: 'controller-publish-', old: 'csiControllerPublish' }],
  resizer: [{ key: 'controller-expand-' }, MODIFY],
  provisioner: [{ key: 'provisioner-', old: 'csiProvisioner' }, MODIFY],
}
const SNAPSHOT_CLASS_KEYS: readonly SecretKey[] = [
  { key: 'snapshotter-' },
  { key: 'snapshotter-list-' },
  { key: 'group-snapshotter-' },
  { key: 'group-snapshotter-get-' },
]
/** The Secret of a StorageClass for each call without a Secret. */
const DEFAULT: SecretKey = { key: '' }

/** The classes that name the driver, whose parameters may name Secrets. */
export interface ClassesOfDriver {
  readonly storageClasses: readonly StorageClass[]
  readonly snapshotClasses: readonly VolumeSnapshotClass[]
}

/** Returns the Secrets that the classes of a driver name for calls of these sidecars. */
export function secretsOf(
  sidecars: readonly SidecarName[],
  { storageClasses, snapshotClasses }: ClassesOfDriver,
  driverName: string,
): NamedSecrets {
  const found = new Map<string, Set<string>>()
  const templated = new Set<string>()
  const add = (className: string, { name, namespace }: NamedSecret): void => {
    if (name.includes('${') || namespace.includes('${')) {
      templated.add(className)
      return
    }
    const names = found.get(namespace) ?? new Set()
    found.set(namespace, names.add(name))
  }
  for (const { metadata, provisioner, parameters = {} } of storageClasses) {
    if (provisioner !== driverName) continue
    for (const key of sidecars.flatMap((sidecar) => STORAGE_CLASS_KEYS[sidecar] ?? [])) {
      const secret = secretIn(parameters, key) ?? secretIn(parameters, DEFAULT)
      if (secret !== undefined) add(`StorageClass ${metadata?.name}`, secret)
    }
  }
  for (const { metadata, driver, parameters = {} } of sidecars.includes('snapshotter') ? snapshotClasses : []) {
    if (driver !== driverName) continue
    for (const key of SNAPSHOT_CLASS_KEYS) {
      const secret = secretIn(parameters, key)
      if (secret !== undefined) add(`VolumeSnapshotClass ${metadata?.name}`, secret)
    }
  }
  const byNamespace = new Map([...found].map(([namespace, names]) => [namespace, [...names].sort()] as const))
  return { byNamespace, templated: [...templated] }
}

interface NamedSecret {
  readonly name: string
  readonly namespace: string
}

function secretIn(parameters: Readonly<Record<string, string>>, { key, old }: SecretKey): NamedSecret | undefined {
  const pairs: [string, string][] = [[`${PREFIX}${key}secret-name`, `${PREFIX}${key}secret-namespace`]]
  if (old !== undefined) pairs.push([`${old}SecretName`, `${old}SecretNamespace`])
  for (const [nameKey, namespaceKey] of pairs) {
    const [name, namespace] = [parameters[nameKey], parameters[namespaceKey]]
    if (name !== undefined && namespace !== undefined) return { name, namespace }
  }
  return undefined
}

/** Returns the Secrets that the service account may not read. */
export function unreadableSecrets(
  { byNamespace }: NamedSecrets,
  granted: readonly GrantedRule[],
): NamedSecrets['byNamespace'] {
  const missing = [...byNamespace].flatMap(([namespace, names]) => {
    const refused = names.filter(
      (name) => !isGranted(granted, { group: '', resource: 'secrets', verb: 'get', namespace, name }),
    )
    return refused.length === 0 ? [] : [[namespace, refused] as const]
  })
  return new Map(missing)
}

/** Reports whether the service account may read every Secret of the cluster. */
export function readsAllSecrets(granted: readonly GrantedRule[]): boolean {
  return isGranted(granted, { group: '', resource: 'secrets', verb: 'get', namespace: undefined })
}
