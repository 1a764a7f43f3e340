import { APPS } from '@csi-sidecars/sidecars'
import type { App, Executables as OfOurs } from '../../e2e/harness/subject.ts'

/** The owner of the measured executable. */
export type Side = 'ours' | 'original'

export const SIDES: readonly Side[] = ['ours', 'original']
export { APPS }

export interface Executables {
  readonly ours: OfOurs
  readonly original: Readonly<Record<App, string>>
}
