import type { Field, Schema } from './schema.ts'

/** Types that are owned as a whole, though they have fields. */
const WHOLE_TYPES: ReadonlySet<string> = new Set([
  'ConfigMapKeySelector',
  'FileKeySelector',
  'LabelSelector',
  'LocalObjectReference',
  'NodeSelector',
  'NodeSelectorTerm',
  'ObjectFieldSelector',
  'ObjectReference',
  'OwnerReference',
  'ResourceFieldSelector',
  'RoleRef',
  'SecretKeySelector',
  'SecretReference',
  'Subject',
  'TopologySelectorTerm',
  'TypedLocalObjectReference',
])

/** As a whole, field by field though its type is owned as a whole, or item by item: by these keys, without any by value. */
type Ownership = 'whole' | 'fields' | readonly string[]

/** Fields that are owned in another way than they are patched. */
const EXCEPTIONS: Readonly<Record<string, Ownership>> = {
  'Container.ports': ['containerPort', 'protocol'],
  'ContainerRestartRuleOnExitCodes.values': [],
  'CSIDriverSpec.volumeLifecycleModes': [],
  'EphemeralContainer.ports': ['containerPort', 'protocol'],
  'NodeAllocatableResourceClaimStatus.containers': [],
  'PersistentVolumeSpec.claimRef': 'fields',
  'PodSpec.nodeSelector': 'whole',
  'PodSpec.topologySpreadConstraints': ['topologyKey', 'whenUnsatisfiable'],
  'PodStatus.hostIPs': 'whole',
  'ResourceRequirements.claims': ['name'],
  'ResourceStatus.resources': ['resourceID'],
  'ServiceSpec.ports': ['port', 'protocol'],
  'ServiceSpec.selector': 'whole',
}

export function isOwnedWhole(schema: Schema): boolean {
  return WHOLE_TYPES.has(schema.name)
}

/** How a field is owned; undefined for what is no list, and owned as its type says. */
export function ownershipOf(schema: Schema, { name, type, merge }: Field): Ownership | undefined {
  const exception = EXCEPTIONS[`${schema.name}.${name}`]
  if (exception !== undefined || type.is !== 'list') return exception
  if (merge === undefined) return 'whole'
  return merge.key === undefined ? [] : [merge.key]
}
