import type { TopologyRequirement } from '@csi-sidecars/csi-proto'
import type { CachedClass } from '../caches/storage.ts'

type Segments = Record<string, string>

/** Where a class allows its volumes: each term with each of its values. Undefined: it does not say. */
export function allowedTopology(terms: CachedClass['allowedTopologies']): TopologyRequirement | undefined {
  const all = (terms ?? []).flatMap(({ matchLabelExpressions }) =>
    (matchLabelExpressions ?? []).reduce<Segments[]>(
      (found, { key, values }) => found.flatMap((one) => values.map((value) => ({ ...one, [key]: value }))),
      [{}],
    ),
  )
  const requisite = all.map((segments) => ({ segments }))
  return requisite.length === 0 ? undefined : { requisite, preferred: requisite }
}
