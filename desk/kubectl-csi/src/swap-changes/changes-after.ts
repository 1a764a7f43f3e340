import type { SidecarName, SwapChange } from './change.ts'
import { CHANGES } from './changes/all.ts'
import { compareVersions, parseVersion, type Version } from './version.ts'

/** The oldest version of each Go sidecar whose changes the list contains. */
export const OLDEST_EXAMINED: Readonly<Record<SidecarName, string>> = {
  attacher: '3.0.0',
  provisioner: '2.0.0',
  resizer: '1.0.0',
  snapshotter: '4.0.0',
  livenessprobe: '2.0.0',
}

export type ChangesAfter =
  | { readonly kind: 'examined'; readonly changes: readonly SwapChange[] }
  /** The version is older than the oldest examined version. The list has the later changes only. */
  | { readonly kind: 'not-examined'; readonly changes: readonly SwapChange[] }

/**
 * Returns the changes between a version of the Go sidecar and our sidecar, the heaviest first. Throws if the text
 * contains no version.
 */
export function changesAfter(sidecar: SidecarName, version: string): ChangesAfter {
  const from = requireVersion(version)
  const changes = CHANGES.filter(
    (change) => change.sidecar === sidecar && compareVersions(from, requireVersion(change.since)) < 0,
  )
  const isExamined = compareVersions(from, requireVersion(OLDEST_EXAMINED[sidecar])) >= 0
  return { kind: isExamined ? 'examined' : 'not-examined', changes: changes.toSorted(byWeight) }
}

const WEIGHTS = ['danger', 'check', 'note'] as const

function byWeight(one: SwapChange, other: SwapChange): number {
  return WEIGHTS.indexOf(one.weight) - WEIGHTS.indexOf(other.weight)
}

function requireVersion(text: string): Version {
  const version = parseVersion(text)
  if (version === undefined) throw new Error(`no version in ${text}`)
  return version
}
