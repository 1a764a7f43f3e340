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

/** Fields that are owned in another way than they are patched: as a whole, or by these keys; none: by value. */
const EXCEPTIONS: Readonly<Record<string, 'whole' | readonly string[]>> = {
  'Container.ports': ['containerPort', 'protocol'],
  'ContainerRestartRuleOnExitCodes.values': [],
  'CSIDriverSpec.volumeLifecycleModes': [],
  'EphemeralContainer.ports': ['containerPort', 'protocol'],
  'NodeAllocatableResourceClaimStatus.containers': [],
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

/** How a list is owned item by item: by these keys, without any by value; `whole` for what is not, undefined for others. */
export function ownershipOf(schema: Schema, { name, type, merge }: Field): 'whole' | readonly string[] | undefined {
  const exception = EXCEPTIONS[`${schema.name}.${name}`]
  if (exception !== undefined || type.is !== 'list') return exception
  if (merge === undefined) return 'whole'
  return merge.key === undefined ? [] : [merge.key]
}
