import type { Claim } from '../caches/claim.ts'

/** Parameters with this prefix are for the provisioner and never reach the driver. */
const PREFIX = 'csi.storage.k8s.io/'

export interface SecretRef {
  readonly name: string
  readonly namespace: string
}

/** The parsed parameters of a class. */
export interface ClassParameters {
  /** The parameters for the driver. */
  readonly plain: Readonly<Record<string, string>>
  readonly fsType: string
  readonly secrets: Readonly<Partial<Record<SecretUse, SecretRef>>>
}

export type SecretUse = keyof typeof SECRET_USES

/** The prefixes of the secret parameters, by the use of the secret. */
const SECRET_USES = {
  provision: 'provisioner',
  publish: 'controller-publish',
  stage: 'node-stage',
  nodePublish: 'node-publish',
  expand: 'controller-expand',
  nodeExpand: 'node-expand',
  modify: 'controller-modify',
} as const

/** Reads the parameters of a class for one claim. The names of secrets may depend on the claim and the volume. */
export function classParameters(
  parameters: Readonly<Record<string, string>>,
  claim: Pick<Claim, 'name' | 'namespace'>,
  volumeName: string,
): ClassParameters {
  const plain = Object.entries(parameters).filter(([name]) => !name.startsWith(PREFIX) && name !== 'fstype')
  const values: Record<string, string> = {
    'pv.name': volumeName,
    'pvc.namespace': claim.namespace,
    'pvc.name': claim.name,
  }
  const fill = (template: string): string =>
    template.replaceAll(/\$\{([^}]*)\}/g, (whole, name: string) => values[name] ?? whole)
  const secrets: Partial<Record<SecretUse, SecretRef>> = {}
  for (const [use, start] of Object.entries(SECRET_USES)) {
    const name = parameters[`${PREFIX}${start}-secret-name`]
    const namespace = parameters[`${PREFIX}${start}-secret-namespace`]
    if (name === undefined && namespace === undefined) continue
    if (!name || !namespace)
      throw new Error(`either name and namespace for ${start} secrets specified, Both must be specified`)
    secrets[use as SecretUse] = { name: fill(name), namespace: fill(namespace) }
  }
  return {
    plain: Object.fromEntries(plain),
    fsType: parameters[`${PREFIX}fstype`] ?? parameters['fstype'] ?? '',
    secrets,
  }
}
