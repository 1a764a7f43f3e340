import { DIFFERENCES, type Difference } from '@csi-sidecars/kubectl-csi/swap-changes'
import { table } from './markdown.ts'

const ALL: readonly Difference[] = Object.values(DIFFERENCES)

/** Returns the table of the differences that a setting removes. */
export function switchableDifferencesTable(): string {
  const rows = ALL.flatMap(({ ours, setting }) => (setting === undefined ? [] : [[ours, setting]]))
  return table(['with ours', 'setting that restores the behaviour of the Go sidecars'], rows)
}

/** Returns the table of the differences that no setting removes. */
export function permanentDifferencesTable(): string {
  return table(
    ['with ours'],
    ALL.flatMap(({ ours, setting }) => (setting === undefined ? [[ours]] : [])),
  )
}
