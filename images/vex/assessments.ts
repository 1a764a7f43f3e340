import type { Feature } from './features.ts'

/**
 * What a person has found about an advisory whose fix is not shipped. It needs one of these features, so as long as no
 * bundle loads it, nothing is affected; or it affects what is shipped, and `action` says what a user can do meanwhile.
 */
export type Assessment = {
  /** As the advisory names itself: its CVE, or the id of OSV where it has none. */
  readonly advisory: string
} & ({ readonly needs: Feature; readonly because: string } | { readonly action: string })

/** One row for each advisory about a version that is shipped: `images/vex/check.ts` fails while one has none. */
export const ASSESSMENTS: readonly Assessment[] = []
