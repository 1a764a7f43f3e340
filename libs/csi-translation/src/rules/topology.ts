import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
} from '@csi-sidecars/kube-types'
import { explaining, TranslationError } from './translation-error.ts'

export type Affinity = NonNullable<PersistentVolumeSpec['nodeAffinity']>
export type TopologyLabels = { readonly [key: string]: string }

/** One version of the well-known topology keys: the current keys (`GA`) or the old keys (`BETA`). */
export interface TopologyFamily {
  readonly zone: string
  readonly region: string
}
/** The in-tree form of a volume's topology. */
export interface InTreeTopology {
  readonly nodeAffinity: Affinity | undefined
  readonly labels: TopologyLabels | undefined
}

export const GA: TopologyFamily = { zone: 'topology.kubernetes.io/zone', region: 'topology.kubernetes.io/region' }
export const BETA: TopologyFamily = {
  zone: 'failure-domain.beta.kubernetes.io/zone',
  region: 'failure-domain.beta.kubernetes.io/region',
}

/** The separator of several zones in the zone label of a volume. */
export const ZONE_DELIMITER = '__'

/** Returns the topology keys of a volume. The zone key in its affinity decides, or else the zone key in its labels. */
export function topologyLabelsOf(pv: PersistentVolume): TopologyFamily {
  const keys = new Set(expressionsOf(pv.spec?.nodeAffinity).map(({ key }) => key))
  if (keys.has(GA.zone)) return GA
  if (keys.has(BETA.zone)) return BETA
  const labels = pv.metadata?.labels ?? {}
  return !Object.hasOwn(labels, GA.zone) && Object.hasOwn(labels, BETA.zone) ? BETA : GA
}

/** Returns the affinity of the volume with the zone key of the driver. Missing zones come from the labels. */
export function affinityToCsi(pv: PersistentVolume, driverKey: string): Affinity | undefined {
  const family = topologyLabelsOf(pv)
  const zoned = keyToCsi(pv, { from: family.zone, to: driverKey, partsOf: (label) => label.split(ZONE_DELIMITER) })
  // The GA key replaces the beta region key, because nodes of current clusters have only the GA region label.
  return family === BETA && valuesOf(zoned, BETA.region).length > 0 ? renamed(zoned, BETA.region, GA.region) : zoned
}

interface KeyChange {
  readonly from: string
  readonly to: string
  partsOf(label: string): readonly string[]
  readonly affinity?: Affinity | undefined
}

/** Renames a key in the affinity. If the affinity lacks the key, adds a requirement with the values of the label. */
export function keyToCsi(pv: PersistentVolume, change: KeyChange): Affinity | undefined {
  const { from, to, partsOf, affinity = pv.spec?.nodeAffinity ?? undefined } = change
  if (valuesOf(affinity, from).length > 0) return renamed(affinity, from, to)
  const labels = pv.metadata?.labels ?? {}
  const label = Object.hasOwn(labels, from) ? labels[from] : undefined
  const values = validValues(label === undefined ? [] : partsOf(label))
  return values.length > 0 ? required(affinity, to, values) : affinity
}

/** Returns the volume with one more requirement in each term of its affinity. */
export function addTopology(pv: PersistentVolume, driverKey: string, zones: readonly string[]): PersistentVolume {
  const values = validValues(zones)
  if (values.length === 0) throw new TranslationError('NO_VALID_ZONES', 'there are no valid zones to add to pv')
  return { ...pv, spec: { ...pv.spec, nodeAffinity: required(pv.spec?.nodeAffinity, driverKey, values) } }
}

/** Translates the topology to in-tree: renames the driver's key to the zone key, and adds zone and region labels. */
export function topologyToInTree(
  pv: PersistentVolume,
  driverKey: string,
  regionOf?: (zones: readonly string[]) => string,
): InTreeTopology {
  const family = topologyLabelsOf(pv)
  const zoned = renamed(pv.spec?.nodeAffinity ?? undefined, driverKey, family.zone)
  const nodeAffinity =
    regionOf === undefined
      ? zoned
      : explaining(`failed to translate topology. PV:${JSON.stringify(pv)}. Error:`, () =>
          explaining('Failed to handle region topology. error: ', () => withRegions(zoned, family, regionOf)),
        )
  const zones = valuesOf(nodeAffinity, family.zone)
  const regions = regionOf === undefined ? [] : valuesOf(nodeAffinity, family.region)
  const labels = labelled(pv.metadata?.labels, {
    ...(zones.length > 0 && { [family.zone]: zones.join(ZONE_DELIMITER) }),
    ...(regions.length === 1 && { [family.region]: regions.join() }),
  })
  return { nodeAffinity, labels }
}

/** Returns the region that all zones have in common. Throws if there are several regions. */
export function commonRegion(zones: readonly string[], regionOf: (zone: string) => string): string {
  if (zones.length === 0) throw new TranslationError('NO_ZONES', 'no zones specified')
  const regions = [...new Set(zones.map(regionOf))].sort()
  if (regions.length > 1) {
    const found = regions.map((region) => `${region}:{}`).join(' ')
    throw new TranslationError('REGION_NOT_UNIQUE', `multiple or no regions gotten from zones, got: map[${found}]`)
  }
  return regions.join()
}

/** Adds labels, but never replaces an existing label. */
export function labelled(labels: TopologyLabels | undefined, added: TopologyLabels): TopologyLabels | undefined {
  return Object.keys(added).length > 0 ? { ...added, ...labels } : labels
}

/** Returns the sorted values of the key in all expressions of the affinity, each once. */
export function valuesOf(affinity: Affinity | undefined, key: string): readonly string[] {
  const expressions = expressionsOf(affinity).filter((expression) => expression.key === key)
  return [...new Set(expressions.flatMap(({ values }) => values ?? []))].sort()
}

/** Renames the key in all expressions of the affinity. Everything else stays, even repeated expressions. */
export function renamed(affinity: Affinity | undefined, from: string, to: string): Affinity | undefined {
  if (!expressionsOf(affinity).some(({ key }) => key === from)) return affinity
  return withTerms(affinity, (term) => ({
    ...term,
    matchExpressions: (term.matchExpressions ?? []).map((each) => (each.key === from ? { ...each, key: to } : each)),
  }))
}

/** Adds a region to each term of the affinity that has none: the region of the zones in the same term. */
function withRegions(
  affinity: Affinity | undefined,
  family: TopologyFamily,
  regionOf: (zones: readonly string[]) => string,
): Affinity | undefined {
  if (termsOf(affinity).length === 0) return affinity
  return withTerms(affinity, (term) => {
    const expressions = term.matchExpressions ?? []
    if (expressions.some(({ key }) => key === family.region)) return term
    const zones = expressions.filter(({ key }) => key === family.zone).flatMap(({ values }) => values ?? [])
    return withExpression(term, { key: family.region, operator: 'In', values: [regionOf(zones)] })
  })
}

/** Adds a requirement to each term of the affinity, because one matching term is enough. Without terms, adds one term. */
function required(affinity: Affinity | undefined, key: string, values: readonly string[]): Affinity {
  const sound = termsOf(affinity).length > 0 ? affinity : { ...affinity, required: { nodeSelectorTerms: [{}] } }
  return withTerms(sound, (term) => withExpression(term, { key, operator: 'In', values }))
}

function withExpression(term: NodeSelectorTerm, expression: NodeSelectorRequirement): NodeSelectorTerm {
  return { ...term, matchExpressions: [...(term.matchExpressions ?? []), expression] }
}

function withTerms(affinity: Affinity | undefined, change: (term: NodeSelectorTerm) => NodeSelectorTerm): Affinity {
  return { ...affinity, required: { ...affinity?.required, nodeSelectorTerms: termsOf(affinity).map(change) } }
}

function termsOf(affinity: Affinity | undefined): readonly NodeSelectorTerm[] {
  return affinity?.required?.nodeSelectorTerms ?? []
}

function expressionsOf(affinity: Affinity | undefined): readonly NodeSelectorRequirement[] {
  return termsOf(affinity).flatMap((term) => term.matchExpressions ?? [])
}

function validValues(values: readonly string[]): readonly string[] {
  const trimmed = values.map((part) => part.trim()).filter((part) => part !== '')
  return [...new Set(trimmed)].sort()
}
