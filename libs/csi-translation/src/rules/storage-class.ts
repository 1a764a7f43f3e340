import type { StorageClass, TopologySelectorTerm } from '@csi-sidecars/kube-types'
import { BETA, GA } from './topology.ts'
import { TranslationError } from './translation-error.ts'

export type TextMap = { readonly [key: string]: string }

/** Returns the translation of one parameter. `lowerKey` is its key in lower case. */
export type ParameterRule = (lowerKey: string, parameter: Parameter) => readonly Parameter[]

/** Returns the entries sorted by key. If keys differ only in case, the last key in this order wins. */
export function entriesByKey(map: TextMap | null | undefined): [key: string, value: string][] {
  return Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
}

type Parameter = readonly [key: string, value: string]

export const keepParameter: ParameterRule = (_key, parameter) => [parameter]

/** Renames `fstype`. The provisioner reads `csi.storage.k8s.io/fstype` itself and hides it from the driver. */
export const renameFsType: ParameterRule = (key, parameter) =>
  key === 'fstype' ? [['csi.storage.k8s.io/fstype', parameter[1]]] : [parameter]

export function withParameters(storageClass: StorageClass, rule: ParameterRule): StorageClass {
  const changed = entriesByKey(storageClass.parameters).flatMap((parameter) =>
    rule(parameter[0].toLowerCase(), parameter),
  )
  const { parameters: _old, ...rest } = storageClass
  return changed.length > 0 ? { ...rest, parameters: Object.fromEntries(changed) } : rest
}

/** Translates parameters like `withParameters`, but turns `zone` and `zones` into an allowed topology. */
export function withZones(storageClass: StorageClass, driverKey: string, rule: ParameterRule): StorageClass {
  let zones: readonly string[] | undefined
  const translated = withParameters(storageClass, (key, parameter) => {
    if (key !== 'zone' && key !== 'zones') return rule(key, parameter)
    zones = key === 'zone' ? [parameter[1]] : parameter[1].split(',')
    return []
  })
  if (zones === undefined) return withTopologyKey(translated, driverKey)
  if ((storageClass.allowedTopologies ?? []).length > 0) {
    throw new TranslationError(
      'SC_ZONE_AND_TOPOLOGY',
      'cannot simultaneously set allowed topologies and zone/zones parameters',
    )
  }
  return { ...translated, allowedTopologies: [{ matchLabelExpressions: [{ key: driverKey, values: zones }] }] }
}

/** Renames the well-known zone keys to the key of the driver. Other keys stay. */
export function withTopologyKey(storageClass: StorageClass, driverKey: string): StorageClass {
  return mapTopologies(storageClass, (expression) =>
    expression.key === GA.zone || expression.key === BETA.zone ? { ...expression, key: driverKey } : expression,
  )
}

type LabelExpression = NonNullable<TopologySelectorTerm['matchLabelExpressions']>[number]

export function mapTopologies(
  storageClass: StorageClass,
  change: (expression: LabelExpression) => LabelExpression,
): StorageClass {
  const terms = storageClass.allowedTopologies ?? []
  if (terms.length === 0) return storageClass
  const allowedTopologies = terms.map((term) =>
    term.matchLabelExpressions === undefined
      ? term
      : { ...term, matchLabelExpressions: term.matchLabelExpressions.map(change) },
  )
  return { ...storageClass, allowedTopologies }
}
