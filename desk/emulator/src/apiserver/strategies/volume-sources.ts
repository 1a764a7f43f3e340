import type { FieldErrors } from '../http/field-errors.ts'
import { at, type Json, type JsonMap, objectAt, textAt } from '../schema/json.ts'

/** The rules of one kind of volume source. */
interface SourceRule {
  /** The name of the source's field in the spec, such as `csi`. */
  readonly name: string
  /** The name of the field in error messages, if it differs from `name`. */
  readonly errorText?: string
  /** The fields of the source that must not be empty. */
  readonly needs?: readonly string[]
  /** The warning that Kubernetes has removed the in-tree driver of the source. */
  readonly deprecated?: string
}

/** The sources in the order of the checks. If a spec has two of them, the error names the second. */
const SOURCES: readonly SourceRule[] = [
  { name: 'hostPath', needs: ['path'] },
  { name: 'gcePersistentDisk', errorText: 'persistentDisk', needs: ['pdName'] },
  { name: 'awsElasticBlockStore', needs: ['volumeID'] },
  { name: 'glusterfs', needs: ['endpoints', 'path'], deprecated: 'deprecated in v1.25, non-functional in v1.26+' },
  { name: 'flocker' },
  { name: 'nfs', needs: ['server', 'path'] },
  { name: 'rbd', needs: ['image'], deprecated: 'deprecated in v1.28, non-functional in v1.31+' },
  { name: 'quobyte', needs: ['registry', 'volume'] },
  { name: 'cephfs', deprecated: 'deprecated in v1.28, non-functional in v1.31+' },
  { name: 'iscsi', needs: ['targetPortal', 'iqn'] },
  { name: 'cinder', needs: ['volumeID'] },
  { name: 'fc' },
  { name: 'flexVolume', needs: ['driver'] },
  { name: 'azureFile', needs: ['secretName', 'shareName'] },
  { name: 'vsphereVolume', needs: ['volumePath'] },
  { name: 'photonPersistentDisk', needs: ['pdID'], deprecated: 'deprecated in v1.11, non-functional in v1.16+' },
  { name: 'portworxVolume', needs: ['volumeID'] },
  { name: 'azureDisk', needs: ['diskName', 'diskURI'] },
  {
    name: 'scaleIO',
    needs: ['gateway', 'system', 'volumeName'],
    deprecated: 'deprecated in v1.16, non-functional in v1.22+',
  },
  { name: 'local', needs: ['path'] },
  { name: 'storageos', deprecated: 'deprecated in v1.22, non-functional in v1.25+' },
  { name: 'csi' },
]

const AZURE_MANAGED = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const AZURE_BLOB = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

/** Requires exactly one volume source, and the required fields of that source. */
export function checkSources(errors: FieldErrors, path: string, spec: Json | undefined): void {
  const present = SOURCES.filter(({ name }) => at(spec, name) !== undefined)
  if (present.length === 0) errors.required(path, 'must specify a volume type')
  present.forEach((rule, index) => {
    if (index > 0) errors.forbidden(`${path}.${rule.name}`, 'may not specify more than 1 volume type')
    else checkSource(errors, { rule, field: `${path}.${rule.errorText ?? rule.name}` }, objectAt(spec, rule.name))
  })
}

function checkSource(
  errors: FieldErrors,
  { rule, field }: { readonly rule: SourceRule; readonly field: string },
  source: JsonMap | undefined,
): void {
  for (const needed of rule.needs ?? []) errors.needed(`${field}.${needed}`, textAt(source, needed))
  if (rule.name === 'nfs' && textAt(source, 'path')?.startsWith('/') !== true) {
    errors.invalid(`${field}.path`, textAt(source, 'path') ?? '', 'must be an absolute path')
  }
  if (rule.name === 'azureFile' && textAt(source, 'secretNamespace') === '') errors.required(`${field}.secretNamespace`)
  if (rule.name !== 'azureDisk') return
  const uri = textAt(source, 'diskURI') ?? ''
  const [start, form] = at(source, 'kind') === 'Managed' ? ['/subscriptions/', AZURE_MANAGED] : ['https://', AZURE_BLOB]
  if (!uri.startsWith(start)) errors.unsupported(`${field}.diskURI`, uri, [form])
}

/** Returns the volume source for the comparison with the old spec. A new `controllerExpandSecretRef` is left out. */
export function sourceOf(spec: Json | undefined, old: Json | undefined): JsonMap {
  const picked: Record<string, Json | undefined> = {}
  for (const { name } of SOURCES) picked[name] = at(spec, name)
  const csi = objectAt(spec, 'csi')
  if (csi !== undefined && at(old, 'csi', 'controllerExpandSecretRef') === undefined) {
    const { controllerExpandSecretRef: _added, ...rest } = csi
    picked['csi'] = rest
  }
  return picked
}

export function sourceWarnings(spec: Json | undefined): readonly string[] {
  return SOURCES.filter(({ name, deprecated }) => deprecated !== undefined && at(spec, name) !== undefined).map(
    ({ name, deprecated }) => `spec.${name === 'storageos' ? 'storageOS' : name}: ${deprecated}`,
  )
}
